import { DAY_MS } from "../../times.ts";
import { defineTable } from "./table.ts";

/** The limit that a row belongs to. */
export const QUOTA_KEY = ["ownerKind", "owner", "provider", "name", "windowMinutes"] as const;

/**
 * How much of each quota is used, a row for each whole percent that was reported in its newest window. The highest is its present
 * use, and the others are its history.
 */
export const quotaPercents = defineTable("quota_percents", [...QUOTA_KEY, "resetsAt", "usedPercent"], {
  /** One of `QUOTA_OWNERS`. */
  ownerKind: "text",
  /** Hash of the account, id of the person, or name of the machine. */
  owner: "text",
  provider: "text",
  name: "text",
  /** 0 if unknown. */
  windowMinutes: "int4",
  /** Rounded to a minute, since some providers give the seconds that are left. */
  resetsAt: "time",
  usedPercent: "int2",
  firstReceivedAt: "time",
  lastAt: "time",
  lastReceivedAt: "time",
});

/** How long a quota is listed after its reset without a reading, ms. */
export const QUOTA_SHOWN_AFTER_RESET = 7 * DAY_MS;

/** As `mergeQuotaPercents` of the fold. */
export const MERGE_QUOTA_PERCENT = {
  firstReceivedAt: "LEAST(t.first_received_at, EXCLUDED.first_received_at)",
  lastAt: "GREATEST(t.last_at, EXCLUDED.last_at)",
  lastReceivedAt: `CASE WHEN EXCLUDED.last_at > t.last_at THEN EXCLUDED.last_received_at
    WHEN EXCLUDED.last_at < t.last_at THEN t.last_received_at
    ELSE LEAST(t.last_received_at, EXCLUDED.last_received_at) END`,
} as const;

/** Removes rows of windows before the newest one of each limit. $1 is the project id, $2 to $6 are arrays of the limits' keys. */
export const REMOVE_OLD_QUOTA_WINDOWS = `
DELETE FROM quota_percents t USING unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::int4[])
  AS k(owner_kind, owner, provider, name, window_minutes)
WHERE t.project_id = $1 AND t.owner_kind = k.owner_kind AND t.owner = k.owner AND t.provider = k.provider
  AND t.name = k.name AND t.window_minutes = k.window_minutes
  AND t.resets_at < (SELECT max(n.resets_at) FROM quota_percents n WHERE n.project_id = $1
    AND n.owner_kind = k.owner_kind AND n.owner = k.owner AND n.provider = k.provider AND n.name = k.name
    AND n.window_minutes = k.window_minutes)`;
