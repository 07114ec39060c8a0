"use client";

import type { DeletionView, UndeletionView } from "@plimsoll/protocol/api";
import { DEMO_HARNESSES } from "@plimsoll/protocol/pure";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { toast } from "../ui/toast.ts";
import { amountText } from "./amount-text.ts";

/** Milliseconds for which the notice offers to undo, as long as the server accepts it. */
const UNDO_MS = 10_000;

/** Deletes sessions, harnesses or the demo, and offers to undo it. Every page is read again after both. */
export function useDeletion() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries();
  const onError = (error: { message: string }) => void toast.error(`Nothing was deleted: ${error.message}`);

  const restored = {
    onSuccess: async ({ harnesses, sessions }: UndeletionView) => {
      await refresh();
      if (harnesses + sessions === 0) toast.error("Too late to undo. The data is removed.");
      else toast.success(`Restored ${amountText({ harnesses, sessions })}.`);
    },
    onError: (error: { message: string }) => void toast.error(`Failed to undo: ${error.message}`),
  };
  const undeleteSessions = useMutation(trpc.sessions.undelete.mutationOptions(restored));
  const undeleteHarnesses = useMutation(trpc.harness.undelete.mutationOptions(restored));

  async function deleted(view: DeletionView, undo: () => void): Promise<void> {
    await refresh();
    if (view.undo_until === null) {
      toast("There was nothing to delete.");
      return;
    }
    toast.success(`Deleted ${amountText(view)}.`, {
      duration: UNDO_MS,
      action: { label: "Undo", onClick: undo },
    });
  }
  return {
    sessions: useMutation(
      trpc.sessions.delete.mutationOptions({
        onSuccess: (view, { ids }) => deleted(view, () => undeleteSessions.mutate({ ids })),
        onError,
      }),
    ),
    harnesses: useMutation(
      trpc.harness.delete.mutationOptions({
        onSuccess: (view, { instances }) => deleted(view, () => undeleteHarnesses.mutate({ instances })),
        onError,
      }),
    ),
    demo: useMutation(
      trpc.demo.delete.mutationOptions({
        onSuccess: (view) => deleted(view, () => undeleteHarnesses.mutate({ instances: DEMO_HARNESSES })),
        onError,
      }),
    ),
  };
}
