"use client";

import type { TaggedSessions, TagSessionsCall } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { toast } from "../ui/toast.ts";

/** How long an action can be undone, in ms. */
const UNDO_MS = 10_000;

/** Adds a tag to sessions or removes it, and offers to undo that. */
export function useTagging() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { mutateAsync, isPending } = useMutation(
    trpc.sessions.tag.mutationOptions({
      onSettled: () => client.invalidateQueries({ queryKey: trpc.sessions.pathKey() }),
    }),
  );
  async function change(call: TagSessionsCall, canUndo = true): Promise<void> {
    let result: TaggedSessions;
    try {
      result = await mutateAsync(call);
    } catch (error) {
      toast.error(error instanceof Error ? error.message : "The tag was not changed.");
      return;
    }
    const { tag, changed, full } = result;
    if (full.length > 0)
      toast.error(
        `${plural(full.length, "session has", "sessions have")} 20 tags already. Remove one first.`,
      );
    if (changed.length === 0 || !canUndo) return;
    const undo = { ids: changed, tag, action: call.action === "add" ? "remove" : "add" } as const;
    const what = call.action === "add" ? "tagged" : "no longer tagged";
    toast(`${plural(changed.length, "session")} ${what} ${tag}`, {
      duration: UNDO_MS,
      action: { label: "Undo", onClick: () => void change(undo, false) },
    });
  }
  return { change, isPending };
}
