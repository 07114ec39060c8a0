import type { AttemptOutcome, PauseReason } from "@plimsoll/protocol/api";
import { backoffMs } from "@plimsoll/protocol/pure";
import { HOUR_MS } from "../../times.ts";

/** Milliseconds after which a delivery is given up, and an endpoint that has only failed is paused. */
export const GIVE_UP_MS = 24 * HOUR_MS;
const DELAY = { firstMs: 5_000, mostMs: HOUR_MS };

/** Outcomes that another attempt at the same message would only repeat. */
const FINAL: readonly AttemptOutcome[] = ["refused", "gone"];

export interface FinishedAttempt {
  outcome: AttemptOutcome;
  /** What the receiver asked to wait, in ms. */
  retryAfterMs: number | undefined;
  /** The number of this attempt since the delivery's time began, from 1. */
  number: number;
  /** When the time for attempts began. Epoch ms. */
  since: number;
  /** Epoch ms. */
  now: number;
  /** From 0 to 1. */
  random: number;
}

export type DeliveryStep = { state: "delivered" | "failed" } | { state: "waiting"; nextAt: number };

/** What follows an attempt. Delays double from 5 s up to an hour. */
export function stepDelivery({
  outcome,
  retryAfterMs,
  number,
  since,
  now,
  random,
}: FinishedAttempt): DeliveryStep {
  if (outcome === "delivered") return { state: "delivered" };
  const end = since + GIVE_UP_MS;
  if (FINAL.includes(outcome) || now >= end) return { state: "failed" };
  const wait = Math.max(backoffMs(number, DELAY, random), retryAfterMs ?? 0);
  // The last attempt is at the end of the time, not after it.
  return { state: "waiting", nextAt: Math.min(now + wait, end) };
}

export interface EndpointHealth {
  /** Since when every attempt failed. Epoch ms. */
  failingSince: number | undefined;
  pause: PauseReason | undefined;
}

/** What an attempt says about its endpoint. A refused message was told to nobody, whatever the receiver thinks of the next one. */
export function healthAfter(
  failingSince: number | undefined,
  { outcome, now }: Pick<FinishedAttempt, "outcome" | "now">,
): EndpointHealth {
  if (outcome === "delivered") return { failingSince: undefined, pause: undefined };
  const since = failingSince ?? now;
  if (outcome === "gone") return { failingSince: since, pause: "gone" };
  // The next message may be another one, so each is tried.
  if (outcome === "refused") return { failingSince: since, pause: undefined };
  return { failingSince: since, pause: now - since >= GIVE_UP_MS ? "failing" : undefined };
}
