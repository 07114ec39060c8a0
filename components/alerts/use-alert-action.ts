import { useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";
import { useTRPC } from "../trpc.ts";

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
