import { forecastQuota } from "@plimsoll/fold";
import type { QuotaList, QuotaView } from "@plimsoll/protocol/api";
import type { QuotaOwnerKind } from "@plimsoll/protocol/pure";
import type { FreshReader } from "../lines/reader.ts";
import { DAY_MS, iso } from "../times.ts";

/** How long a quota is listed after its reset without a reading. */
const SHOWN_AFTER_RESET = 7 * DAY_MS;

interface Row {
  ownerKind: QuotaOwnerKind;
  owner: string;
  provider: string;
  name: string;
  windowMinutes: number;
  resetsAt: Date;
  lastReceivedAt: Date;
  percents: { usedPercent: number; firstReceivedAt: number }[];
}

/** Every limit of the accounts of a project, the one that ends first first. */
export async function readQuota({ prisma, projectId, now }: FreshReader): Promise<QuotaList> {
  // The projector keeps the rows of one window for each limit.
  const rows = await prisma.$queryRaw<Row[]>`
    SELECT q.owner_kind AS "ownerKind", q.owner, q.provider, q.name, q.window_minutes AS "windowMinutes",
      q.resets_at AS "resetsAt", max(q.last_received_at) AS "lastReceivedAt",
      json_agg(json_build_object('usedPercent', q.used_percent,
        'firstReceivedAt', extract(epoch FROM q.first_received_at) * 1000)) AS percents
    FROM quota_percents q
    WHERE q.project_id = ${projectId} AND q.resets_at > ${new Date(now - SHOWN_AFTER_RESET)}
    GROUP BY 1, 2, 3, 4, 5, 6`;
  return {
    generated_at: iso(now),
    quotas: rows
      .map((row) => quotaView(row, now))
      .sort(
        (a, b) => rank(a) - rank(b) || b.used_percent - a.used_percent || (nameOf(a) < nameOf(b) ? -1 : 1),
      ),
  };
}

function quotaView(row: Row, now: number): QuotaView {
  const { ownerKind, owner, provider, name, windowMinutes, resetsAt, lastReceivedAt, percents } = row;
  const window = windowMinutes === 0 ? undefined : windowMinutes;
  const { reason, endsAt } = forecastQuota(
    { resetsAt: resetsAt.getTime(), windowMinutes: window, percents },
    now,
  );
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
