import { z } from "zod";

const time = z.iso.datetime({ offset: true });
const days = z.number().int().min(1).max(36_500).nullable();

/** How many days a project keeps its sessions and its rollups. Null: for good. */
export const RetentionDays = z.object({ session_days: days, rollup_days: days });
export type RetentionDays = z.infer<typeof RetentionDays>;

/** What a setting would remove. */
export const RetentionPreview = z.object({
  sessions: z.number().int(),
  turns: z.number().int(),
  /** Days of charts. */
  rollup_days: z.number().int(),
});
export type RetentionPreview = z.infer<typeof RetentionPreview>;

/** For a query string: a parameter that is absent keeps for good. */
const queryDays = z.coerce.number().int().min(1).max(36_500).optional();
export const RetentionPreviewQuery = z.object({ session_days: queryDays, rollup_days: queryDays });

/** Tables of the database, of all projects together. */
export const DISK_PARTS = ["turns", "sessions", "rollups", "other"] as const;
export type DiskPart = (typeof DISK_PARTS)[number];

export const RetentionView = RetentionDays.extend({
  /** Sessions from before this time were removed; null while none were. */
  horizon: time.nullable(),
  /** Days since the first event of the project; null without any. */
  oldest_days: z.number().int().nullable(),
  /** Bytes on disk with indexes, of all projects together. */
  disk: z.object({ turns: z.number(), sessions: z.number(), rollups: z.number(), other: z.number() }),
});
export type RetentionView = z.infer<typeof RetentionView>;
