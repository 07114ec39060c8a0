import {
  type Acknowledgement,
  catalogWindow,
  ceilingEffect,
  EFFECT_DAYS,
  type RateOfSessions,
  SignalCells,
} from "@plimsoll/fold";
import { familyDefaults } from "@plimsoll/harnesses/lines";
import type { PolicyEffects, PolicyEffectView } from "@plimsoll/protocol/api";
import {
  type PolicyBody,
  type PolicyVersion,
  resolveForHarness,
  thresholdTokens,
} from "@plimsoll/protocol/policy";
import { queriesOf } from "../db/sql.ts";
import { readAcknowledgements } from "../lines/acknowledgements.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { groupedCells, type OutcomeGroup, readStoredCells, type StoredCells } from "../read/quality.ts";
import { DAY_MS, iso } from "../times.ts";

/** Days before a version that it is compared with, and after which it is no longer judged. */
const DAYS_BEFORE = 28;
const DAYS_AFTER = 90;
const APPLIED: ReadonlySet<Acknowledgement["status"]> = new Set(["written", "applied"]);
const NO_POLICY: PolicyBody = { settings: {}, layers: [] };

/** A version with other ceilings than the one before. */
interface CeilingChange {
  generation: number;
  body: PolicyBody;
  before: PolicyVersion | undefined;
  /** When all harnesses were offered it: epoch ms. */
  offeredAt: number;
}

/**
 * What the latest change of ceilings did to how often tool calls fail: the sessions of harnesses that applied it, beside those before it
 * was saved. For each kind of harness and model whose ceiling it changed.
 */
export async function readCeilingEffects(reader: FreshReader): Promise<PolicyEffects> {
  const { prisma, projectId, now, policy } = reader;
  const [latest, earlier] = ceilingChanges(policy.versions).reverse();
  if (latest === undefined) return NONE;
  const { generation } = latest;
  const saved = await prisma.policyVersion.findUniqueOrThrow({
    where: { projectId_generation: { projectId, generation } },
    select: { createdAt: true },
  });
  const savedAt = saved.createdAt.getTime();
  // A version that is applied to history holds from a time at which no harness had it.
  const since = Math.max(latest.offeredAt, savedAt);
  if (since < now - DAYS_AFTER * DAY_MS) return NONE;
  const from = Math.max(savedAt - DAYS_BEFORE * DAY_MS, earlier?.offeredAt ?? 0);
  const [stored, storedAfter] = await Promise.all([
    readStoredCells(reader, { from, to: savedAt, whole: true }),
    readStoredCells(reader, { from: since, to: now, whole: true }),
  ]);
  const [before, after] = await Promise.all([
    groupedCells(reader, stored, "failed"),
    groupedCells(reader, await begunWith(reader, storedAfter, generation), "failed"),
  ]);
  const items = before.groups.flatMap((group): PolicyEffectView[] => {
    const { harness, model } = group;
    const ceiling = ceilingOf(latest.body, group);
    const ceilingBefore = ceilingOf(latest.before?.body ?? NO_POLICY, group);
    if (ceiling === undefined || ceiling === ceilingBefore) return [];
    const later = after.groups.find((one) => one.harness === harness && one.model === model);
    const days = (now - since) / DAY_MS;
    const effect = ceilingEffect(group.cells, later?.cells ?? new SignalCells(), { ceiling, days });
    return [
      {
        ...{ harness, model, ceiling, ceiling_before: ceilingBefore ?? null },
        estimate: effect.estimate ?? null,
        before: rateView(effect.before),
        after: rateView(effect.after),
        measured: effect.measured ?? null,
        verdict: effect.verdict,
      },
    ];
  });
  const judgedFrom = iso(since + EFFECT_DAYS * DAY_MS);
  return {
    ...{ generation, before: latest.before?.generation || null },
    ...{ since: iso(since), judged_from: judgedFrom, items },
  };
}

const NONE: PolicyEffects = { generation: null, before: null, since: null, judged_from: null, items: [] };

/** The versions that all harnesses were offered and that changed a ceiling, in order. */
export function ceilingChanges(versions: readonly PolicyVersion[]): CeilingChange[] {
  const changes: CeilingChange[] = [];
  let before: PolicyVersion | undefined;
  for (const version of versions) {
    const offered = version.steps.at(-1);
    // Not while it is rolled out, and not if that was halted.
    if (offered?.share !== 1) continue;
    const { generation, body } = version;
    if (ceilingsIn(body) !== ceilingsIn(before?.body ?? NO_POLICY))
      changes.push({ generation, body, before, offeredAt: offered.at });
    before = version;
  }
  return changes;
}

const ceilingsIn = ({ settings, layers }: PolicyBody): string =>
  JSON.stringify([
    settings.thresholds?.ceiling,
    layers.flatMap(({ scope, settings: own }) => {
      const ceiling = own.thresholds?.ceiling;
      return ceiling === undefined ? [] : [[scope, ceiling]];
    }),
  ]);

/** Of the sessions that began after their harness had said that it applied a generation or a later one. */
async function begunWith(
  reader: Reader,
  rows: readonly StoredCells[],
  generation: number,
): Promise<StoredCells[]> {
  const instances = [...new Set(rows.map(({ harness }) => harness))];
  const said = await readAcknowledgements(queriesOf(reader), reader.projectId, instances);
  const appliedAt = new Map(
    instances.map((instance) => {
      const acks = said
        .get(instance)!
        .acks.filter((ack) => ack.generation >= generation && APPLIED.has(ack.status));
      return [instance, Math.min(...acks.map(({ at }) => at))];
    }),
  );
  return rows.filter(({ harness, began }) => began >= appliedAt.get(harness)!);
}

/** The ceiling of a group's agents in tokens, as far as the window of the model is known. */
function ceilingOf(body: PolicyBody, { harness, model }: OutcomeGroup): number | undefined {
  const instance = `${harness}@any`;
  const { settings } = resolveForHarness(body, { harness: instance, model }, familyDefaults(instance));
  const value = settings.thresholds?.ceiling;
  return value === undefined ? undefined : thresholdTokens("ceiling", value, catalogWindow(model));
}

const rateView = ({ sessions, rate }: RateOfSessions) => ({ sessions, rate: rate ?? null });
