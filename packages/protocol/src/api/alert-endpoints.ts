import { z } from "zod";
import { ALERT_ENDPOINT_KINDS, AlertEndpointTarget } from "../alerts/alert-endpoint.ts";
import { DELIVERY_STATES } from "../alerts/delivery-state.ts";
import { AlertNotification, NOTIFICATION_KINDS } from "../alerts/notification.ts";
import { callText, cursorText, rowId, rowNumber } from "./parameters.ts";

const time = z.iso.datetime({ offset: true });
const id = rowId;
const name = callText(100, z.string().trim().min(1));

/** How an attempt ended. Only `delivered` is a success. */
export const ATTEMPT_OUTCOMES = [
  "delivered",
  /** The receiver answered that it never takes this message: 400, 413, 415 or 422. */
  "refused",
  /** The receiver does not exist any more: 410. */
  "gone",
  /** Any other answer. */
  "http_status",
  "redirect",
  "timeout",
  "connection_refused",
  "connection_lost",
  "dns",
  "tls",
  /** The address is private and `PLIMSOLL_WEBHOOK_ALLOW` does not open it. */
  "address_not_allowed",
  /** The mail server's answer. */
  "smtp",
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One attempt at a delivery. */
export const AlertAttempt = z.object({
  number: z.number().int(),
  at: time,
  outcome: z.enum(ATTEMPT_OUTCOMES),
  /** Of HTTP or SMTP; null if there was no answer. */
  status: z.number().int().nullable(),
  duration_ms: z.number().int(),
  /** What was sent, without secrets. */
  request: z.string(),
  /** The first 4 KiB of the answer, or what went wrong. */
  answer: z.string(),
});
export type AlertAttempt = z.infer<typeof AlertAttempt>;

/** Why nothing is sent to an endpoint. */
export const PAUSE_REASONS = ["person", "failing", "gone"] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

export const AlertEndpointView = z.object({
  id,
  /** Rises with every change. Send it with the next one. */
  version: z.number().int(),
  name,
  kind: z.enum(ALERT_ENDPOINT_KINDS),
  /** Without secrets. */
  address: z.string(),
  /** False if its secrets were encrypted with another key than this server has: write its target again. */
  readable: z.boolean(),
  /** Null unless it is paused. */
  pause_reason: z.enum(PAUSE_REASONS).nullable(),
  paused_at: time.nullable(),
  /** Since when every attempt failed. */
  failing_since: time.nullable(),
  /** Until when the secret before the current one signs as well. */
  previous_secret_until: time.nullable(),
  /** Deliveries that wait for an attempt. */
  waiting: z.number().int(),
  last_attempt: AlertAttempt.pick({ at: true, outcome: true, status: true }).nullable(),
  /** Rules that send to it. */
  rules: z.number().int(),
  /** Who changed it last; see `actor` of AuditEntryView. Null: before servers kept that. */
  actor: z.string().nullable(),
  actor_name: z.string().nullable(),
  created_at: time,
  updated_at: time,
});
export type AlertEndpointView = z.infer<typeof AlertEndpointView>;

export const AlertEndpointList = z.object({ endpoints: z.array(AlertEndpointView) });
export type AlertEndpointList = z.infer<typeof AlertEndpointList>;

export const AlertEndpointQuery = z.object({ id });
export const CreateAlertEndpointCall = z.object({ name, target: AlertEndpointTarget });
export const SaveAlertEndpointCall = z.object({
  id,
  /** The version that was changed. */
  expected: rowNumber.min(1),
  name,
  /** Whole, with its secrets. Without it the target stays. */
  target: AlertEndpointTarget.optional(),
});

/** An endpoint that was made or has a new secret. The secret is never shown again. */
export const AlertEndpointWithSecret = z.object({
  endpoint: AlertEndpointView,
  /** With which a webhook's receiver verifies signatures: `whsec_…`. Null for the other kinds. */
  signing_secret: z.string().nullable(),
});
export type AlertEndpointWithSecret = z.infer<typeof AlertEndpointWithSecret>;

export const AlertDeliveryView = z.object({
  /** The `webhook-id`. With the endpoint, it names a delivery. */
  id: z.string(),
  endpoint_id: id,
  endpoint: z.string(),
  kind: z.enum(NOTIFICATION_KINDS),
  /** The group of alerts that it tells of. Its repetitions have the same. */
  group: z.string(),
  state: z.enum(DELIVERY_STATES),
  /** Such as `phantom@vm-3: Ceiling crossed`. */
  title: z.string(),
  attempts: z.number().int(),
  created_at: time,
  finished_at: time.nullable(),
  /** Of one that waits: when the next attempt is due. */
  next_at: time.nullable(),
  last_outcome: z.enum(ATTEMPT_OUTCOMES).nullable(),
});
export type AlertDeliveryView = z.infer<typeof AlertDeliveryView>;

export const AlertDeliveriesQuery = z.object({
  endpoint: id.optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: cursorText,
});
export type AlertDeliveriesQuery = z.infer<typeof AlertDeliveriesQuery>;

/** Newest first. */
export const AlertDeliveryPage = z.object({
  items: z.array(AlertDeliveryView),
  next_cursor: z.string().nullable(),
});
export type AlertDeliveryPage = z.infer<typeof AlertDeliveryPage>;

export const AlertDeliveryQuery = z.object({ endpoint: id, id: callText(100, z.string().min(1)) });
export type AlertDeliveryQuery = z.infer<typeof AlertDeliveryQuery>;

export const AlertDeliveryDetail = AlertDeliveryView.extend({
  notification: AlertNotification,
  /** The last 50, newest first. */
  log: z.array(AlertAttempt),
});
export type AlertDeliveryDetail = z.infer<typeof AlertDeliveryDetail>;
