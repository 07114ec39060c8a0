/** @jsxImportSource #jsx */
"use client";

import { ListFilter } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Popover } from "../ui/popover.tsx";
import { Skeleton } from "../ui/states.tsx";

const FilterOptions = lazyPart(
  () => import("./filter-options.tsx").then(({ FilterOptions }) => FilterOptions),
  () => <Skeleton className="h-72 w-full" />,
);

/** A button that opens a searchable list of all filters. */
export function FilterMenu() {
  usePreload(FilterOptions.load);
  return (
    <Popover
      trigger={
        <Button>
          <ListFilter aria-hidden className="text-faint" /> Filter
        </Button>
      }
      label="Filters"
      align="start"
      className="w-72 p-1"
    >
      {(close) => <FilterOptions onPick={close} />}
    </Popover>
  );
}
