"use client";

import type { SavedSessionView, SaveSessionViewCall } from "@plimsoll/protocol/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { toast } from "../ui/toast.ts";

const UNDO_MS = 10_000;

/** The saved views of the project, and changes of them that can be undone. */
export function useSavedViews() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { data } = useQuery(trpc.sessions.views.list.queryOptions());
  const refresh = () => client.invalidateQueries(trpc.sessions.views.list.queryFilter());
  const save = useMutation(trpc.sessions.views.save.mutationOptions({ onSuccess: refresh }));
  const remove = useMutation(trpc.sessions.views.remove.mutationOptions({ onSuccess: refresh }));
  const views = data?.views ?? [];

  const failed = (error: { message: string }) =>
    void toast.error(`Failed to change the view: ${error.message}`);
  const undoable = (message: string, undo: SaveSessionViewCall) =>
    void toast(message, {
      duration: UNDO_MS,
      action: { label: "Undo", onClick: () => save.mutate(undo, { onError: failed }) },
    });

  return {
    views,
    isPending: save.isPending || remove.isPending,
    /** Saves a view. Rejects with the reason. */
    save: save.mutateAsync,
    /** Makes a view the one that opens first, or no longer. */
    makeDefault(view: SavedSessionView, isDefault: boolean) {
      const before = views.find(({ is_default }) => is_default);
      save.mutate(
        { ...callOf(view), is_default: isDefault },
        {
          onError: failed,
          onSuccess: () =>
            undoable(
              isDefault ? `${view.name} opens first now` : `${view.name} no longer opens first`,
              before === undefined || !isDefault
                ? { ...callOf(view), is_default: !isDefault }
                : callOf(before),
            ),
        },
      );
    },
    /** Replaces what a view holds. */
    update(view: SavedSessionView, query: string) {
      save.mutate(
        { ...callOf(view), query },
        { onError: failed, onSuccess: () => undoable(`${view.name} was changed`, callOf(view)) },
      );
    },
    remove(view: SavedSessionView) {
      remove.mutate(
        { id: view.id },
        { onError: failed, onSuccess: () => undoable(`${view.name} was deleted`, callOf(view)) },
      );
    },
  };
}

/** The call that saves a view as it is. */
export function callOf({ id, name, query, is_default }: SavedSessionView): SaveSessionViewCall {
  return { id, name, query, is_default };
}
