import { forecastQuota } from "@plimsoll/fold";
import type { QuotaList, QuotaView } from "@plimsoll/protocol/api";
import type { QuotaOwnerKind } from "@plimsoll/protocol/pure";
import { QUOTA_SHOWN_AFTER_RESET } from "../db/tables/quota-percents.ts";
import type { FreshReader } from "../lines/reader.ts";
import { iso } from "../times.ts";

export interface QuotaRow {
  ownerKind: QuotaOwnerKind;
  owner: string;
  provider: string;
  name: string;
  windowMinutes: number;
  /** Epoch ms. */
  resetsAt: number;
  /** Epoch ms. */
  lastReceivedAt: number;
  percents: { usedPercent: number; firstReceivedAt: number }[];
}

/** The quotas of a project with the percents of their windows. The projector keeps the rows of one window for each limit. */
export const QUOTA_ROWS = `
SELECT q.owner_kind AS "ownerKind", q.owner, q.provider, q.name, q.window_minutes AS "windowMinutes",
  (extract(epoch FROM q.resets_at) * 1000)::float8 AS "resetsAt",
  (extract(epoch FROM max(q.last_received_at)) * 1000)::float8 AS "lastReceivedAt",
  json_agg(json_build_object('usedPercent', q.used_percent,
    'firstReceivedAt', extract(epoch FROM q.first_received_at) * 1000)) AS percents
FROM quota_percents q
WHERE q.project_id = $1::int4 AND q.resets_at > to_timestamp($2::float8 / 1000)
GROUP BY q.owner_kind, q.owner, q.provider, q.name, q.window_minutes, q.resets_at`;

export const quotaParameters = (projectId: number, now: number) =>
  [projectId, now - QUOTA_SHOWN_AFTER_RESET] as const;

/** Every limit of the accounts of a project, the one that ends first first. */
export async function readQuota({ prisma, projectId, now }: FreshReader): Promise<QuotaList> {
  const rows = await prisma.$queryRawUnsafe<QuotaRow[]>(QUOTA_ROWS, ...quotaParameters(projectId, now));
  return { generated_at: iso(now), quotas: quotaViews(rows, now) };
}

/** @param now epoch ms */
export function quotaViews(rows: readonly QuotaRow[], now: number): QuotaView[] {
  return rows
    .map((row) => quotaView(row, now))
    .sort((a, b) => rank(a) - rank(b) || b.used_percent - a.used_percent || (nameOf(a) < nameOf(b) ? -1 : 1));
}

function quotaView(row: QuotaRow, now: number): QuotaView {
  const { ownerKind, owner, provider, name, windowMinutes, resetsAt, lastReceivedAt, percents } = row;
  const window = windowMinutes === 0 ? undefined : windowMinutes;
  const { reason, endsAt } = forecastQuota({ resetsAt, windowMinutes: window, percents }, now);
  return {
    provider,
    limit: name,
    window_minutes: window ?? null,
    owner: { kind: ownerKind, id: owner },
    used_percent: Math.max(...percents.map(({ usedPercent }) => usedPercent)),
    resets_at: iso(resetsAt),
    read_at: iso(lastReceivedAt),
    forecast: { reason, ends_at: endsAt === undefined ? null : iso(endsAt) },
  };
}

/** When work stops: now if it is used up, at the end of the forecast, else late. */
function rank({ forecast: { reason, ends_at } }: QuotaView): number {
  if (reason === "reset") return Number.POSITIVE_INFINITY;
  if (reason === "used_up") return 0;
  return ends_at === null ? Number.MAX_SAFE_INTEGER : Date.parse(ends_at);
}

const nameOf = ({ provider, limit, window_minutes, owner }: QuotaView): string =>
  JSON.stringify([provider, limit, window_minutes, owner]);
