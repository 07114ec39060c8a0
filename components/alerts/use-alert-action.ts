import { useQueryClient } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { toast } from "../ui/toast.ts";

/** What every change of rules, silences, endpoints and alerts is followed by. */
export function useAlertAction() {
  const trpc = useTRPC();
  const client = useQueryClient();
  return {
    /** Refetches everything about alerts. */
    refresh: () => client.invalidateQueries(trpc.alerts.pathFilter()),
    failed: (what: string) => (error: { message: string }) =>
      void toast.error(`Failed to ${what}: ${error.message}`),
  };
}
