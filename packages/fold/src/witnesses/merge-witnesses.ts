import type { TurnFacts } from "../history/turn.ts";
import { larger } from "../history/usage.ts";
import {
  claimsOf,
  packProvenance,
  rankOf,
  trustedClaim,
  WITNESSED_FIELDS,
  type WitnessedField,
  witnessCode,
  witnessMask,
} from "./witness.ts";

/** Whose value of a field to take: that of `a`, that of `b`, or the merge of both. */
export type Choice = "a" | "b" | "both";

/** Chooses by how much each report says of a field (0: nothing), then by trust. */
export function choose(
  field: WitnessedField,
  a: TurnFacts,
  b: TurnFacts,
  weightA: number,
  weightB: number,
): Choice {
  if (weightA !== weightB) return weightA > weightB ? "a" : "b";
  if (a.provenance === b.provenance || weightA === 0) return "both";
  const rankA = rankOf(witnessCode(a.provenance, field));
  const rankB = rankOf(witnessCode(b.provenance, field));
  return rankA === rankB ? "both" : rankA > rankB ? "a" : "b";
}

export type Choices = Record<WitnessedField, Choice>;

/** @param has whether the merged turn has a field */
export function mergeProvenance(
  a: TurnFacts,
  b: TurnFacts,
  choices: Choices,
  has: (field: WitnessedField) => boolean,
): number {
  if (a.provenance === b.provenance) return a.provenance;
  const mask = witnessMask(a.provenance) | witnessMask(b.provenance);
  const codes = WITNESSED_FIELDS.map((field) =>
    has(field) ? witnessCode((choices[field] === "b" ? b : a).provenance, field) : 0,
  );
  return packProvenance(mask, codes);
}

/** The window sizes of two reports. A turn with one witness has no claims: its only size is `sentLimit`. */
export function mergeLimits(a: TurnFacts, b: TurnFacts): Pick<TurnFacts, "sentLimit" | "limitClaims"> {
  if (a.provenance === b.provenance && a.limitClaims === undefined && b.limitClaims === undefined) {
    return { sentLimit: larger(a.sentLimit, b.sentLimit), limitClaims: undefined };
  }
  const one = claimsOf(a);
  const other = claimsOf(b);
  if (one.length === 0 && other.length === 0) return { sentLimit: undefined, limitClaims: undefined };
  const limitClaims = Array.from({ length: Math.max(one.length, other.length) }, (_, code) =>
    larger(one[code], other[code]),
  );
  return { sentLimit: trustedClaim(limitClaims), limitClaims };
}
