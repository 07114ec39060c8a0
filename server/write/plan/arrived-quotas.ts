import { mergeQuotaPercents } from "@plimsoll/fold";
import type { QuotaEvent } from "@plimsoll/protocol/events";
import type { QuotaOwnerKind } from "@plimsoll/protocol/pure";
import type { quotaPercents } from "../../db/tables/quota-percents.ts";
import type { RowOf } from "../../db/tables/table.ts";
import type { SentEvent } from "./session-origin.ts";

/** A percent of a quota, merged over its readings. */
export type ArrivedQuota = RowOf<typeof quotaPercents>;

const MINUTE_MS = 60_000;

/** A quota is of an account, whichever session reads it. So it makes no agent, session or harness. */
export function addQuota(
  quotas: Map<string, ArrivedQuota>,
  event: QuotaEvent & SentEvent,
  receivedAt: number,
): void {
  const { at, provider, limit, window_minutes: windowMinutes = 0, used_percent, resets_at } = event;
  const row: ArrivedQuota = {
    ...quotaOwner(event),
    provider,
    name: limit,
    windowMinutes,
    resetsAt: Math.round(resets_at / MINUTE_MS) * MINUTE_MS,
    // Rounded down, so that 99.9 % is not used up.
    usedPercent: Math.floor(used_percent),
    firstReceivedAt: receivedAt,
    lastAt: at,
    lastReceivedAt: receivedAt,
  };
  const { ownerKind, owner, name, resetsAt, usedPercent } = row;
  const key = [ownerKind, owner, provider, name, windowMinutes, resetsAt, usedPercent].join("\u0000");
  const known = quotas.get(key);
  quotas.set(key, known === undefined ? row : mergeQuotaPercents(known, row));
}

function quotaOwner({ account, person, machine, harness }: QuotaEvent & SentEvent): {
  ownerKind: QuotaOwnerKind;
  owner: string;
} {
  if (account !== undefined) return { ownerKind: "account", owner: account };
  if (person !== undefined) return { ownerKind: "person", owner: person };
  // An instance is named after its machine: `codex@laptop`.
  return { ownerKind: "machine", owner: machine || harness.slice(harness.indexOf("@") + 1) || harness };
}
