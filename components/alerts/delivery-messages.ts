import type { AlertDeliveryView } from "@plimsoll/protocol/api";
import { plural } from "../format.ts";

/** A message with the deliveries to its endpoints and those of its repetitions, newest first. */
export interface DeliveredMessage {
  /** The first delivery. */
  first: AlertDeliveryView;
  deliveries: readonly AlertDeliveryView[];
}

/**
 * The messages of some deliveries, the one with the newest delivery first. A repetition belongs to the message before it of its group.
 * @param deliveries newest first
 */
export function messagesOf(deliveries: readonly AlertDeliveryView[]): DeliveredMessage[] {
  const byId = new Map<string, AlertDeliveryView[]>();
  const latest = new Map<string, AlertDeliveryView[]>();
  for (const delivery of deliveries.toReversed()) {
    const { id, group, kind } = delivery;
    const known = byId.get(id) ?? (kind === "repeated" ? latest.get(group) : undefined);
    const message = known ?? [];
    message.unshift(delivery);
    byId.set(id, message);
    if (known === undefined) latest.set(group, message);
  }
  const order = new Map(deliveries.map((delivery, place) => [delivery, place]));
  return [...new Set(byId.values())]
    .sort((a, b) => order.get(a[0]!)! - order.get(b[0]!)!)
    .map((all) => ({ first: all.at(-1)!, deliveries: all }));
}

const WORST = ["failed", "waiting", "skipped", "delivered"] as const;

/** The state that a person has to know of first. */
export const worstState = ({ deliveries }: DeliveredMessage): AlertDeliveryView["state"] =>
  WORST.find((state) => deliveries.some((delivery) => delivery.state === state)) ?? "delivered";

/** Such as `2 endpoints · repeated 5 times · 3 attempts`. */
export function sentText({ deliveries }: DeliveredMessage): string {
  const endpoints = new Map(deliveries.map(({ endpoint_id, endpoint }) => [endpoint_id, endpoint]));
  const repeats = new Set(deliveries.filter(({ kind }) => kind === "repeated").map(({ id }) => id)).size;
  const attempts = deliveries.reduce((sum, delivery) => sum + delivery.attempts, 0);
  const [only] = endpoints.values();
  return [
    endpoints.size === 1 ? only : plural(endpoints.size, "endpoint"),
    ...(repeats > 0 ? [`repeated ${repeats === 1 ? "once" : plural(repeats, "time")}`] : []),
    ...(attempts > deliveries.length ? [plural(attempts, "attempt")] : []),
  ].join(" · ");
}
