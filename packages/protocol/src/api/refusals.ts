import { z } from "zod";

/** Refused events that share a harness, an event type, a reason and a field. */
export const IngestRefusal = z.object({
  /** Null if the event names none. */
  harness: z.string().nullable(),
  type: z.string().nullable(),
  /** As in `rejected` of the answer to the sender. */
  code: z.string(),
  /** Dotted path of the field at fault; empty for the whole event. */
  path: z.string(),
  message: z.string(),
  /** JSON of the newest such event. Every text but names of harness, model and type is replaced by its length. */
  example: z.string(),
  count: z.number().int(),
  first_at: z.string(),
  last_at: z.string(),
});
export type IngestRefusal = z.infer<typeof IngestRefusal>;

/** The newest 50, most recent first. */
export const IngestRefusals = z.object({ refusals: z.array(IngestRefusal) });
export type IngestRefusals = z.infer<typeof IngestRefusals>;

/** What arrived with the key of the request since this server process started. */
export const IngestReceipts = z.object({
  /** Start of the process. */
  since: z.string(),
  /** Events. OpenTelemetry data without a model call becomes none. */
  accepted: z.number().int(),
  rejected: z.number().int(),
  /** Null if nothing arrived. */
  last_request_at: z.string().nullable(),
  /** Null if no event was accepted. */
  last_event_at: z.string().nullable(),
  /** The newest 5, most recent first. */
  last_rejections: z.array(z.object({ code: z.string(), path: z.string(), message: z.string() })),
});
export type IngestReceipts = z.infer<typeof IngestReceipts>;
