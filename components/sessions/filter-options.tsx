/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { exact } from "../format.ts";
import { usePeopleNames } from "../people/use-people-names.ts";
import { useTRPC } from "../trpc.ts";
import { loadedOverlays } from "../ui/lazy-overlays.ts";
import { useHarness } from "../url.ts";
import { boundaryName } from "../words.ts";
import { type ChoosingFilter, KINDS, REASONS, STATUSES } from "./filters.ts";
import { useSessionFilters } from "./use-session-filters.ts";

const ITEM =
  "flex cursor-pointer items-center gap-2 rounded-md py-1.5 pr-2 pl-7 data-[selected=true]:bg-edge/35 pointer-coarse:py-2.5 relative";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-faint";

type Filter = Exclude<ChoosingFilter, "q"> | "harness";

interface Option {
  value: string;
  label?: string;
  note?: string;
}

/** All filters in one list. Choosing the one in force removes it. */
export function FilterOptions({ onPick }: { onPick: () => void }) {
  const { Command } = loadedOverlays();
  const trpc = useTRPC();
  const [filters, setFilters] = useSessionFilters();
  const [harness, setHarness] = useHarness();
  const { data: values } = useQuery(
    trpc.sessions.values.queryOptions(
      filters.repository === null ? undefined : { repository: filters.repository },
    ),
  );
  const { data: known } = useQuery(trpc.harnesses.queryOptions({}));
  const people = usePeopleNames();
  const groups: { filter: Filter; heading: string; options: Option[] }[] = [
    { filter: "status", heading: "Status", options: STATUSES.map((value) => ({ value })) },
    {
      filter: "reason",
      heading: "Fell by",
      options: REASONS.map((value) => ({ value, label: boundaryName(value) })),
    },
    { filter: "warned", heading: "Threshold", options: [{ value: "1", label: "Past warning" }] },
    {
      filter: "tag",
      heading: "Tag",
      options: (values?.tags ?? []).map(({ tag, sessions }) => ({ value: tag, note: exact(sessions) })),
    },
    { filter: "model", heading: "Model", options: (values?.models ?? []).map((value) => ({ value })) },
    {
      filter: "harness",
      heading: "Harness",
      options: (known?.harnesses ?? []).map(({ instance }) => ({ value: instance })),
    },
    {
      filter: "machine",
      heading: "Machine",
      options: (values?.machines ?? []).map((value) => ({ value })),
    },
    {
      filter: "repository",
      heading: "Repository",
      options: (values?.repositories ?? []).map((value) => ({ value })),
    },
    // Names of branches mean nothing without their repository.
    { filter: "branch", heading: "Branch", options: (values?.branches ?? []).map((value) => ({ value })) },
    {
      filter: "person",
      heading: "Person",
      options: [...people].map(([value, label]) => ({ value, label })),
    },
    { filter: "kind", heading: "Kind", options: KINDS.map((value) => ({ value })) },
  ];
  const inForce = (filter: Filter) => (filter === "harness" ? harness : filters[filter]);
  function pick(filter: Filter, value: string) {
    const next = inForce(filter) === value ? null : value;
    if (filter === "harness") void setHarness(next);
    else void setFilters({ [filter]: next, ...(filter === "repository" && { branch: null }) });
    onPick();
  }
  return (
    <Command label="Filters" loop>
      <Command.Input
        autoFocus
        placeholder="Filter by"
        className="mb-1 h-9 w-full border-b bg-transparent px-2.5 outline-none placeholder:text-faint"
      />
      <Command.List className="max-h-[min(22rem,60vh)] overflow-auto">
        <Command.Empty className="px-2.5 py-3 text-muted">No filter has this name.</Command.Empty>
        {groups
          .filter(({ options }) => options.length > 0)
          .map(({ filter, heading, options }) => (
            <Command.Group key={filter} heading={heading} className={GROUP}>
              {options.map(({ value, label = value, note }) => (
                <Command.Item
                  key={value}
                  value={`${heading} ${label}`}
                  onSelect={() => pick(filter, value)}
                  className={ITEM}
                >
                  {inForce(filter) === value && (
                    <Check aria-label="in force" className="absolute left-2 size-3.5 text-accent" />
                  )}
                  <span className="min-w-0 truncate" title={label}>
                    {label}
                  </span>
                  {note !== undefined && <span className="ml-auto text-xs text-faint">{note}</span>}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
      </Command.List>
    </Command>
  );
}
