/** @jsxImportSource #jsx */
"use client";

import { ArrowDown, ArrowUp } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { COLUMNS, DEFAULT_COLUMNS, toggleColumn } from "./column-choice.ts";
import { ASCENDING_FIRST, SORT_OF } from "./session-columns.tsx";
import { useColumns, useSessionFilters } from "./use-session-filters.ts";

/** Sort order and columns. On narrow screens, where the list has no header, it is the only way to sort. */
export function DisplayOptions() {
  const [{ sort, order }, setFilters] = useSessionFilters();
  const [columns, setColumns] = useColumns();
  return (
    <>
      <div className="flex items-center gap-2">
        <span className="mr-auto text-muted">Sort by</span>
        <SelectMenu
          name="Sort by"
          value={sort}
          options={COLUMNS.map(({ id, label }) => ({ value: SORT_OF[id], label }))}
          onChange={(next) =>
            void setFilters({ sort: next, order: ASCENDING_FIRST.has(next) ? "asc" : "desc" })
          }
        />
        <Button
          size="icon"
          aria-label={order === "desc" ? "Highest first" : "Lowest first"}
          title={order === "desc" ? "Highest first" : "Lowest first"}
          onClick={() => void setFilters({ order: order === "desc" ? "asc" : "desc" })}
          className="border border-rule"
        >
          {order === "desc" ? <ArrowDown aria-hidden /> : <ArrowUp aria-hidden />}
        </Button>
      </div>
      <fieldset className="mt-3 border-t pt-2 max-lg:hidden">
        <legend className="sr-only">Columns</legend>
        <div className="flex items-center justify-between">
          <span aria-hidden className="text-muted">
            Columns
          </span>
          <Button size="small" look="ghost" onClick={() => setColumns(DEFAULT_COLUMNS)}>
            Reset
          </Button>
        </div>
        {COLUMNS.filter(({ id }) => id !== "session").map(({ id, label }) => (
          <label key={id} className="flex cursor-pointer items-center gap-2 rounded-md px-1 py-1">
            <input
              type="checkbox"
              checked={columns.includes(id)}
              onChange={() => setColumns(toggleColumn(columns, id))}
              className="size-4 accent-accent"
            />
            {label}
          </label>
        ))}
      </fieldset>
    </>
  );
}
