/** @jsxImportSource #jsx */
"use client";

import type { DeliveryState } from "@plimsoll/protocol/alerts";
import type { AlertDeliveryView } from "@plimsoll/protocol/api";
import { DELIVERY_STATES } from "@plimsoll/protocol/pure";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { ChevronDown, RotateCw } from "lucide-react";
import { useMemo, useState } from "react";
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
import { useAlertFilters } from "./alert-filters.tsx";
import { canRedeliver, DELIVERY_TEXT, outcomeText } from "./alert-text.ts";
import { AttemptView } from "./attempt-view.tsx";
import { type DeliveredMessage, messagesOf, sentText, worstState } from "./delivery-messages.ts";
import { deliveriesInput } from "./filters.ts";
import { useAlertAction } from "./use-alert-action.ts";

/** Messages that the page lists. */
const MESSAGES_SHOWN = 50;

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
  const [filters, set] = useAlertFilters();
  const [open, setOpen] = useState<AlertDeliveryView>();
  const query = useQuery({
    ...useTRPC().alerts.deliveries.list.queryOptions(deliveriesInput(filters)),
    placeholderData: keepPreviousData,
  });
  const messages = useMemo(() => messagesOf(query.data?.items ?? []), [query.data]);
  const filter = filters.deliveries ?? "all";
  return (
    <Section
      id="deliveries"
      title="Deliveries"
      note="Messages to endpoints, newest first. Failed ones are tried again for 24 h."
      action={
        <SelectMenu
          name="State"
          value={filter}
          options={FILTERS}
          onChange={(next) => void set({ deliveries: next === "all" ? null : next })}
        />
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the deliveries" className="h-24" />
      ) : messages.length === 0 ? (
        <p className="text-[13px] text-muted">No deliveries{filter === "all" ? " yet" : " in this state"}.</p>
      ) : (
        <ul aria-label="Deliveries">
          {messages.slice(0, MESSAGES_SHOWN).map((message) => (
            <Message
              key={`${message.first.endpoint_id} ${message.first.id}`}
              message={message}
              onOpen={setOpen}
            />
          ))}
        </ul>
      )}
      {open !== undefined && <DeliveryDialog delivery={open} onClose={() => setOpen(undefined)} />}
    </Section>
  );
}

const LINE =
  "grid w-full gap-x-4 py-2 text-left text-[13px] hover:bg-track sm:grid-cols-[5rem_minmax(0,1fr)_auto]";

/** A message. One that went to several endpoints, or was repeated, opens to a line for each delivery. */
function Message({
  message,
  onOpen,
}: {
  message: DeliveredMessage;
  onOpen: (one: AlertDeliveryView) => void;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const { first, deliveries } = message;
  const isAlone = deliveries.length === 1;
  return (
    <li className="border-t first:border-t-0">
      <button
        type="button"
        onClick={() => (isAlone ? onOpen(first) : setIsOpen(!isOpen))}
        {...(!isAlone && { "aria-expanded": isOpen })}
        className={LINE}
      >
        <State state={worstState(message)} />
        <span className="min-w-0 wrap-anywhere">{first.title}</span>
        <span className="flex items-center gap-1 text-faint">
          {sentText(message)} · <Ago at={deliveries[0]!.created_at} />
          {!isAlone && <ChevronDown aria-hidden className={cn("size-3.5", isOpen && "rotate-180")} />}
        </span>
      </button>
      {isOpen && (
        <ul aria-label={`Deliveries of ${first.title}`} className="mb-2 border-l sm:ml-20">
          {deliveries.map((delivery) => (
            <li key={`${delivery.endpoint_id} ${delivery.id}`}>
              <button type="button" onClick={() => onOpen(delivery)} className={cn(LINE, "py-1 pl-3")}>
                <State state={delivery.state} />
                <span className="min-w-0 wrap-anywhere">
                  {delivery.endpoint}
                  {delivery.kind === "repeated" && <span className="text-faint"> · repeated</span>}
                </span>
                <span className="text-faint">
                  {delivery.attempts > 1 && `${plural(delivery.attempts, "attempt")} · `}
                  <Ago at={delivery.created_at} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const State = ({ state }: Pick<AlertDeliveryView, "state">) => (
  <span className={cn("font-medium", LOOKS[state])}>{DELIVERY_TEXT[state]}</span>
);

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
