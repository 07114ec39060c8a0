import type { TurnFacts } from "../history/turn.ts";
import { mergeLimits } from "./merge-witnesses.ts";
import {
  claimsOf,
  isSingle,
  packProvenance,
  trustedClaim,
  WITNESSED_FIELDS,
  type WindowClaims,
  type WitnessedField,
  witnessCode,
  witnessMask,
} from "./witness.ts";

/** What a report may lack and another report of the call may add. Prompt and model are always those of the report. */
const HAS: Record<WitnessedField, (facts: TurnFacts) => boolean> = {
  prompt: () => true,
  output: ({ usage }) => usage.output_tokens !== undefined,
  reasoning: ({ usage }) => usage.reasoning_tokens !== undefined,
  model: () => true,
  composition: ({ composition }) => composition !== undefined,
  duration: ({ durationMs }) => durationMs !== undefined,
  cost: ({ costUsd }) => costUsd !== undefined,
  outcome: ({ outcome }) => outcome !== undefined,
};

/** Whether a report says how long the provider keeps what it wrote. Telemetry of Claude Code does not, its recordings do. */
const tellsLife = ({ usage }: TurnFacts) => usage.cache_write_1h_tokens !== undefined;

/**
 * The call of a report with what other reports of it add. Id, time, place and whatever the report has itself stay, so
 * `ownReport` finds the report again.
 * @param others by trust, most trusted first; no two of the reports have a witness in common
 */
export function joinReports(report: TurnFacts, others: readonly TurnFacts[]): TurnFacts {
  const sources = new Map<WitnessedField, TurnFacts>();
  for (const field of WITNESSED_FIELDS) {
    const source = [report, ...others].find(HAS[field]);
    if (source !== undefined) sources.set(field, source);
  }
  const from = (field: WitnessedField) => sources.get(field) ?? report;
  let limits: TurnFacts = report;
  for (const other of others) limits = { ...limits, ...mergeLimits(limits, other) };
  const mask = others.reduce(
    (all, { provenance }) => all | witnessMask(provenance),
    witnessMask(report.provenance),
  );
  const { composition, compositionEstimated } = from("composition");
  return {
    ...report,
    usage: {
      ...report.usage,
      cache_write_1h_tokens: [report, ...others].find(tellsLife)?.usage.cache_write_1h_tokens,
      output_tokens: from("output").usage.output_tokens,
      reasoning_tokens: from("reasoning").usage.reasoning_tokens,
    },
    sentLimit: limits.sentLimit,
    compaction: [report, ...others].some(({ compaction }) => compaction),
    composition,
    compositionEstimated,
    durationMs: from("duration").durationMs,
    costUsd: from("cost").costUsd,
    outcome: from("outcome").outcome,
    provenance: packProvenance(mask, codesOf(sources)),
    limitClaims: limits.limitClaims,
  };
}

/** The codes of the witnesses whose values the fields have; 0 for a field without a value. */
function codesOf(sources: ReadonlyMap<WitnessedField, TurnFacts>): number[] {
  return WITNESSED_FIELDS.map((field) => {
    const source = sources.get(field);
    return source === undefined ? 0 : witnessCode(source.provenance, field);
  });
}

/**
 * What one report of a joined call said.
 * @param others the witnesses that `joinReports` added, as a mask; 0 for a call that nobody else reports
 * @param addedLife whether one of them said how long the provider keeps what it wrote
 */
export function ownReport(call: TurnFacts, others: number, addedLife: boolean): TurnFacts {
  if (others === 0) return call;
  const own = witnessMask(call.provenance) & ~others;
  const isOwn = (field: WitnessedField) =>
    HAS[field](call) && (own & (1 << witnessCode(call.provenance, field))) !== 0;
  const codes = WITNESSED_FIELDS.map((field) => (isOwn(field) ? witnessCode(call.provenance, field) : 0));
  const claims = claimsOf(call).map((tokens, code) => ((own & (1 << code)) === 0 ? undefined : tokens));
  const hasParts = isOwn("composition");
  return {
    ...call,
    usage: {
      ...call.usage,
      cache_write_1h_tokens: addedLife ? undefined : call.usage.cache_write_1h_tokens,
      output_tokens: isOwn("output") ? call.usage.output_tokens : undefined,
      reasoning_tokens: isOwn("reasoning") ? call.usage.reasoning_tokens : undefined,
    },
    sentLimit: trustedClaim(claims),
    composition: hasParts ? call.composition : undefined,
    compositionEstimated: hasParts && call.compositionEstimated,
    durationMs: isOwn("duration") ? call.durationMs : undefined,
    costUsd: isOwn("cost") ? call.costUsd : undefined,
    outcome: isOwn("outcome") ? call.outcome : undefined,
    provenance: packProvenance(own, codes),
    limitClaims: isSingle(own) ? undefined : trimmed(claims),
  };
}

/** Claims end with the last one; without any there is no list. */
function trimmed(claims: WindowClaims): WindowClaims | undefined {
  const length = claims.findLastIndex((tokens) => tokens !== undefined) + 1;
  return length === 0 ? undefined : claims.slice(0, length);
}
