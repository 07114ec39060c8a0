"use client";

import { SlidersHorizontal } from "lucide-react";
import dynamic from "next/dynamic";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { Popover } from "../ui/popover.tsx";
import { Skeleton } from "../ui/states.tsx";

const loadOptions = () => import("./display-options.tsx").then(({ DisplayOptions }) => DisplayOptions);
const DisplayOptions = dynamic(loadOptions, {
  ssr: false,
  loading: () => <Skeleton className="h-72 w-full" />,
});

/** A button that opens the sort order and the columns. */
export function DisplayMenu() {
  usePreload(loadOptions);
  return (
    <Popover
      trigger={
        <Button>
          <SlidersHorizontal aria-hidden className="text-faint" />
          <span className="max-sm:sr-only">Display</span>
        </Button>
      }
      label="Display"
      align="start"
      className="max-h-[80vh] w-72 overflow-auto p-3"
    >
      {() => <DisplayOptions />}
    </Popover>
  );
}
