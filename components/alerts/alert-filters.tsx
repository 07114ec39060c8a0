/** @jsxImportSource #jsx */
"use client";

import type { AlertSeverity } from "@plimsoll/protocol/alerts";
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useQueryStates } from "nuqs";
import { startTransition, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { type Option, SelectMenu } from "../ui/select-menu.tsx";
import { LIST_TEXT, SEVERITY_TEXT } from "./alert-text.ts";
import { alertFilters, LISTS, SEVERITIES } from "./filters.ts";

export const useAlertFilters = () => useQueryStates(alertFilters);

const ALL = "all";
type OrAll<Value extends string> = Value | typeof ALL;
const LIST_OPTIONS = LISTS.map((value) => ({ value, label: LIST_TEXT[value] }));
const SEVERITY_OPTIONS: readonly Option<OrAll<AlertSeverity>>[] = [
  { value: ALL, label: "Any severity" },
  ...SEVERITIES.map((value) => ({ value, label: SEVERITY_TEXT[value] })),
];

/** Which alerts are listed. Each choice is in the URL. */
export function AlertFilters() {
  const [{ state, severity, rule, q }, set] = useAlertFilters();
  const { data } = useQuery(useTRPC().alerts.rules.list.queryOptions());
  const rules = (data?.rules ?? []).map(({ id, rule: { name }, firing }) => ({
    value: id,
    label: name,
    ...(firing > 0 && { note: String(firing) }),
  }));
  const isFiltered = severity !== null || rule !== null || q !== "";
  return (
    <search aria-label="Alerts" className="mb-3 flex flex-wrap items-center gap-2">
      <SelectMenu
        name="Alerts"
        value={state}
        options={LIST_OPTIONS}
        onChange={(next) => void set({ state: next })}
      />
      <SelectMenu
        name="Severity"
        value={severity ?? ALL}
        options={SEVERITY_OPTIONS}
        onChange={(next) => void set({ severity: next === ALL ? null : next })}
      />
      {rules.length > 1 && (
        <SelectMenu
          name="Rule"
          value={rule ?? ALL}
          options={[{ value: ALL, label: "Any rule" }, ...rules]}
          onChange={(next) => void set({ rule: next === ALL ? null : next })}
        />
      )}
      <Search value={q} onChange={(text) => void set({ q: text === "" ? null : text })} />
      {isFiltered && (
        <Button onClick={() => void set({ severity: null, rule: null, q: null })}>
          <X aria-hidden /> Clear filters
        </Button>
      )}
    </search>
  );
}

/** A key shows in the field at once; the list follows when the browser has time. */
function Search({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const [sent, setSent] = useState(value);
  // The browser's history, or the button that clears, changed the search.
  if (value !== sent) {
    setSent(value);
    setText(value);
  }
  return (
    <input
      type="search"
      aria-label="Search alerts"
      placeholder="Harness, session, agent or rule"
      maxLength={200}
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        startTransition(() => {
          setSent(target.value);
          onChange(target.value);
        });
      }}
      className="h-8 w-full rounded-[7px] border border-edge bg-panel px-3 text-[13px] placeholder:text-faint pointer-coarse:h-10 sm:w-64"
    />
  );
}
