/** @jsxImportSource #jsx */
"use client";

import type { DeliveryState } from "@plimsoll/protocol/alerts";
import type { AlertDeliveryView } from "@plimsoll/protocol/api";
import { DELIVERY_STATES } from "@plimsoll/protocol/pure";
import { useMutation, useQuery } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { plural } from "../format.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Modal } from "../ui/dialog.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { canRedeliver, DELIVERY_TEXT, outcomeText } from "./alert-text.ts";
import { AttemptView } from "./attempt-view.tsx";
import { useAlertAction } from "./use-alert-action.ts";

const FILTERS = [
  { value: "all", label: "All" },
  ...DELIVERY_STATES.map((value) => ({ value, label: DELIVERY_TEXT[value] })),
] as const;

const LOOKS: Readonly<Record<DeliveryState, string>> = {
  waiting: "text-warn-ink",
  delivered: "text-ok",
  failed: "text-hard",
  skipped: "text-muted",
};

/** What was sent to the endpoints, newest first. */
export function Deliveries() {
  const [filter, setFilter] = useState<DeliveryState | "all">("all");
  const [open, setOpen] = useState<AlertDeliveryView>();
  const query = useQuery(
    useTRPC().alerts.deliveries.list.queryOptions(filter === "all" ? {} : { state: filter }),
  );
  return (
    <Section
      id="deliveries"
      title="Deliveries"
      note="Notifications to endpoints, newest first. Failed ones are tried again for 24 h."
      action={<SelectMenu name="State" value={filter} options={FILTERS} onChange={setFilter} />}
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the deliveries" className="h-24" />
      ) : query.data.items.length === 0 ? (
        <p className="text-[13px] text-muted">No deliveries{filter === "all" ? " yet" : " in this state"}.</p>
      ) : (
        <ul aria-label="Deliveries">
          {query.data.items.map((delivery) => (
            <li key={`${delivery.endpoint_id} ${delivery.id}`} className="border-t first:border-t-0">
              <button
                type="button"
                onClick={() => setOpen(delivery)}
                className="grid w-full gap-x-4 py-2 text-left text-[13px] hover:bg-track sm:grid-cols-[5rem_minmax(0,1fr)_auto]"
              >
                <span className={cn("font-medium", LOOKS[delivery.state])}>
                  {DELIVERY_TEXT[delivery.state]}
                </span>
                <span className="min-w-0 wrap-anywhere">{delivery.title}</span>
                <span className="text-faint">
                  {delivery.endpoint} · <Ago at={delivery.created_at} />
                  {delivery.attempts > 1 && ` · ${plural(delivery.attempts, "attempt")}`}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {open !== undefined && <DeliveryDialog delivery={open} onClose={() => setOpen(undefined)} />}
    </Section>
  );
}

function DeliveryDialog({ delivery, onClose }: { delivery: AlertDeliveryView; onClose: () => void }) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const key = { endpoint: delivery.endpoint_id, id: delivery.id };
  const query = useQuery(trpc.alerts.deliveries.get.queryOptions(key));
  const redeliver = useMutation(
    trpc.alerts.deliveries.redeliver.mutationOptions({
      onSuccess: () => {
        toast.success("Sent again.");
        return refresh();
      },
      onError: failed("send it again"),
    }),
  );
  const { data } = query;
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={delivery.title}
      description={`To ${delivery.endpoint}, webhook-id ${delivery.id}`}
    >
      {data === undefined ? (
        <NotLoaded query={query} what="the delivery" className="h-40" />
      ) : (
        <>
          <p className="text-[13px]" role="status">
            {DELIVERY_TEXT[data.state]}
            {data.last_outcome !== null &&
              data.state !== "delivered" &&
              `: ${outcomeText(data.last_outcome, null)}`}
          </p>
          {data.log.length === 0 && <p className="mt-2 text-[13px] text-muted">No attempt yet.</p>}
          <ul aria-label="Attempts">
            {data.log.map((attempt) => (
              <li key={attempt.number} className="mt-2">
                <p className="text-xs text-faint">
                  Attempt {attempt.number}, <Ago at={attempt.at} />
                </p>
                <AttemptView attempt={attempt} />
              </li>
            ))}
          </ul>
          {canRedeliver(data) && (
            <div className="mt-4 flex justify-end">
              <Button disabled={redeliver.isPending} onClick={() => redeliver.mutate(key)}>
                <RotateCw aria-hidden /> Send again
              </Button>
            </div>
          )}
        </>
      )}
    </Modal>
  );
}
