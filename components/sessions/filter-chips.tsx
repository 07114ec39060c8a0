/** @jsxImportSource #jsx */
"use client";

import { X } from "lucide-react";
import { usePeopleNames } from "../people/use-people-names.ts";
import { useHarness } from "../url.ts";
import { type FilterChip, filterChips } from "./filter-text.ts";
import { useSessionFilters } from "./use-session-filters.ts";

/** The filters in force, each with a button that removes it. */
export function FilterChips() {
  const [harness, setHarness] = useHarness();
  const [filters, setFilters] = useSessionFilters();
  const chips = filterChips(filters, harness, usePeopleNames());
  if (chips.length === 0) return null;
  function remove(id: FilterChip["id"]) {
    if (id === "harness") void setHarness(null);
    else void setFilters({ [id]: null });
  }
  return (
    <ul aria-label="Filters" className="flex min-w-0 flex-wrap items-center gap-1.5">
      {chips.map(({ id, name, value }) => (
        <li
          key={id}
          className="inline-flex h-7 max-w-full items-center rounded-full border border-rule bg-panel pl-2.5 text-xs pointer-coarse:h-9"
        >
          <span className="max-w-64 truncate" title={value}>
            <span className="text-muted">{name}</span>
            {value !== undefined && <> {value}</>}
          </span>
          <button
            type="button"
            aria-label={`Remove filter ${name}`}
            onClick={() => remove(id)}
            className="ml-0.5 inline-flex size-6 items-center justify-center rounded-full text-muted hover:bg-track hover:text-ink pointer-coarse:size-9"
          >
            <X aria-hidden className="size-3" />
          </button>
        </li>
      ))}
    </ul>
  );
}
