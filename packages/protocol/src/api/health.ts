import { z } from "zod";

/** Why readers get no answer from the database. `for_ms` is a duration, so that the reader's clock does not matter. */
export const DatabaseOutageView = z.object({
  /** One sentence for a person. */
  message: z.string(),
  /** Milliseconds since the database stopped answering. */
  for_ms: z.number().int().nonnegative(),
});
export type DatabaseOutageView = z.infer<typeof DatabaseOutageView>;

/** Whether the database answers; `database` is null while it does. The browser asks for this without a key. */
export const ServerHealth = z.object({
  status: z.literal("ok"),
  version: z.string(),
  database: DatabaseOutageView.nullable(),
});
export type ServerHealth = z.infer<typeof ServerHealth>;

/** The event `health` of `/api/v1/live`: a sign of life for readers of the metrics. */
export const HealthNotice = ServerHealth.pick({ database: true });
export type HealthNotice = z.infer<typeof HealthNotice>;
