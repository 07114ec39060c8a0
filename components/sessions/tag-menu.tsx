"use client";

import type { SessionSummary } from "@plimsoll/protocol";
import { Tag } from "lucide-react";
import dynamic from "next/dynamic";
import { Popover } from "radix-ui";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Skeleton } from "../ui/states.tsx";

const TagOptions = dynamic(() => import("./tag-options.tsx").then((module) => module.TagOptions), {
  ssr: false,
  loading: () => <Skeleton className="h-40 w-full" />,
});

/** A button that opens a list of tags to put on sessions. */
export function TagMenu({ ids, rows }: { ids: readonly string[]; rows: readonly Tagged[] }) {
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button size="small">
          <Tag aria-hidden /> Tag
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={10}
          aria-label="Tags"
          className="z-50 w-64 rounded-lg border border-edge bg-raised p-1 text-[13px] shadow-xl"
        >
          <TagOptions ids={ids} rows={rows} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

export type Tagged = Pick<SessionSummary, "id" | "tags">;
