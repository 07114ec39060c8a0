/** @jsxImportSource #jsx */
"use client";

import type { SessionSummary } from "@plimsoll/protocol/api";
import { Tag } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Popover } from "../ui/popover.tsx";
import { Skeleton } from "../ui/states.tsx";

const TagOptions = lazyPart(
  () => import("./tag-options.tsx").then(({ TagOptions }) => TagOptions),
  () => <Skeleton className="h-40 w-full" />,
);

/** A button that opens a list of tags to put on sessions. */
export function TagMenu({ ids, rows }: { ids: readonly string[]; rows: readonly Tagged[] }) {
  usePreload(TagOptions.load);
  return (
    <Popover
      trigger={
        <Button size="small">
          <Tag aria-hidden /> Tag
        </Button>
      }
      label="Tags"
      align="start"
      className="w-64 p-1"
    >
      {() => <TagOptions ids={ids} rows={rows} />}
    </Popover>
  );
}

export type Tagged = Pick<SessionSummary, "id" | "tags">;
