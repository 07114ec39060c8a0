/** @jsxImportSource #jsx */
"use client";

import { SlidersHorizontal } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Popover } from "../ui/popover.tsx";
import { Skeleton } from "../ui/states.tsx";

const DisplayOptions = lazyPart(
  () => import("./display-options.tsx").then(({ DisplayOptions }) => DisplayOptions),
  () => <Skeleton className="h-72 w-full" />,
);

/** A button that opens the sort order and the columns. */
export function DisplayMenu() {
  usePreload(DisplayOptions.load);
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
