import { z } from "zod";
import { QUOTA_FORECASTS, QUOTA_OWNERS } from "../terms.ts";

const time = z.iso.datetime({ offset: true });

/** One limit of an account, as its provider last reported it. */
export const QuotaView = z.object({
  /** Such as `anthropic`. */
  provider: z.string(),
  /** The provider's name of the limit, such as `five_hour`. */
  limit: z.string(),
  /** Length of its window; null if unknown. */
  window_minutes: z.number().int().nullable(),
  owner: z.object({
    kind: z.enum(QUOTA_OWNERS),
    /** Hash of the account, id of the person (see `PersonNames`), or name of the machine. */
    id: z.string(),
  }),
  /** Whole percent, rounded down; above 100 if the provider allows more. */
  used_percent: z.number().int(),
  /** By the provider's clock, to the minute. */
  resets_at: time,
  /** When the server received the newest reading. */
  read_at: time,
  forecast: z.object({
    reason: z.enum(QUOTA_FORECASTS),
    /** When the quota is used up at the present pace; only with `rising`. */
    ends_at: time.nullable(),
  }),
});
export type QuotaView = z.infer<typeof QuotaView>;

export const QuotaList = z.object({
  generated_at: time,
  /** The one that ends first first, then by use; those that were reset last. */
  quotas: z.array(QuotaView),
});
export type QuotaList = z.infer<typeof QuotaList>;
