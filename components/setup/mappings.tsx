/** @jsxImportSource #jsx */
"use client";

import { matchText } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ago } from "../clock.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { toast } from "../ui/toast.ts";

const POLL_MS = 5_000;

/** The mappings by which the server reads OpenTelemetry data of no known dialect. Empty if there are none. */
export function Mappings() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { data } = useQuery(trpc.mappings.list.queryOptions(undefined, { refetchInterval: POLL_MS }));
  const refresh = () =>
    Promise.all([
      client.invalidateQueries(trpc.mappings.pathFilter()),
      client.invalidateQueries(trpc.ingest.unmapped.pathFilter()),
    ]);
  const restore = useMutation(
    trpc.mappings.save.mutationOptions({
      onSuccess: refresh,
      onError: ({ message }) => toast.error(`Failed to restore the mapping: ${message}`),
    }),
  );
  const remove = useMutation(
    trpc.mappings.remove.mutationOptions({
      onError: ({ message }) => toast.error(`Failed to remove the mapping: ${message}`),
    }),
  );
  if (data === undefined || data.mappings.length === 0) return null;
  return (
    <div data-testid="mappings" className="mt-4">
      <h3 className="mb-1 text-[13px] font-semibold">Mappings of OpenTelemetry data</h3>
      <ul>
        {data.mappings.map(({ mapping, updated_at }) => (
          <li key={mapping.name} className="flex items-center gap-3 border-t py-2 text-[13px]">
            <span className="min-w-0 flex-1 wrap-anywhere">
              <span className="block font-medium">{mapping.name}</span>
              <span className="block text-xs text-muted">{matchText(mapping)}</span>
            </span>
            <span className="text-xs text-faint max-sm:hidden">
              saved <Ago at={updated_at} />
            </span>
            <Button
              size="small"
              disabled={remove.isPending}
              onClick={() =>
                remove.mutate(
                  { name: mapping.name },
                  {
                    onSuccess: () => {
                      toast.success(`Removed the mapping ${mapping.name}.`, {
                        action: { label: "Undo", onClick: () => restore.mutate(mapping) },
                      });
                      return refresh();
                    },
                  },
                )
              }
              aria-label={`Remove the mapping ${mapping.name}`}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
