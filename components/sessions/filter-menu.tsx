"use client";

import { ListFilter } from "lucide-react";
import dynamic from "next/dynamic";
import { Popover } from "radix-ui";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Skeleton } from "../ui/states.tsx";

const FilterOptions = dynamic(() => import("./filter-options.tsx").then((module) => module.FilterOptions), {
  ssr: false,
  loading: () => <Skeleton className="h-72 w-full" />,
});

/** A button that opens a searchable list of all filters. */
export function FilterMenu() {
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button>
          <ListFilter aria-hidden className="text-faint" /> Filter
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={10}
          aria-label="Filters"
          className="z-50 w-72 rounded-lg border border-edge bg-raised p-1 text-[13px] shadow-xl"
        >
          <FilterOptions onPick={() => setOpen(false)} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
