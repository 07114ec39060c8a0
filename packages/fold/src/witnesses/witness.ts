import { WITNESSES, type Witness } from "@plimsoll/protocol/pure";
/** Whose counts, model, cost and duration to take, best first. A transcript may be written before the answer is complete. */
export const TRUST = [
  "harness",
  "otlp",
  "hook",
  "status_line",
  "instrumentation",
  "openinference",
  "transcript",
  "acp",
] as const satisfies Witness[];

/** Whose window size to take, best first. A status line shows the window that the harness works with. */
export const WINDOW_TRUST = [
  "harness",
  "status_line",
  "acp",
  "hook",
  "transcript",
  "otlp",
  "instrumentation",
  "openinference",
] as const satisfies Witness[];

/** What of a turn one witness gives as a whole. Stored by position: append, at most 8. */
export const WITNESSED_FIELDS = [
  "prompt",
  "output",
  "reasoning",
  "model",
  "composition",
  "duration",
  "cost",
  "outcome",
] as const;
export type WitnessedField = (typeof WITNESSED_FIELDS)[number];

/**
 * Who reported a turn, and whose value each field has, as one number: a bit for each witness, and, if there are several,
 * three bits for each field. 0 stands for the harness alone.
 */
export type Provenance = number;

/** Bits of the witnesses. */
const WITNESS_BITS = 8;
const ALL_WITNESSES = (1 << WITNESS_BITS) - 1;
const CODE_BITS = 3;
const CODE = (1 << CODE_BITS) - 1;
const HARNESS_ALONE = 1;

/** The witnesses as a mask: bit n stands for `WITNESSES[n]`. */
export function witnessMask(provenance: Provenance): number {
  return provenance === 0 ? HARNESS_ALONE : provenance & ALL_WITNESSES;
}

/** Of a report that came from one witness. */
export function provenanceOf(witness: Witness | undefined): Provenance {
  return witness === undefined || witness === "harness" ? 0 : 1 << WITNESSES.indexOf(witness);
}

/** Who reported a turn, most trusted first. */
export function witnessesOf(provenance: Provenance): Witness[] {
  const mask = witnessMask(provenance);
  return TRUST.filter((witness) => (mask & (1 << WITNESSES.indexOf(witness))) !== 0);
}

/** The position in `WITNESSES` of the one whose value a field has. */
export function witnessCode(provenance: Provenance, field: WitnessedField): number {
  const mask = witnessMask(provenance);
  if (isSingle(mask)) return codeOf(mask);
  return (provenance >>> (WITNESS_BITS + CODE_BITS * WITNESSED_FIELDS.indexOf(field))) & CODE;
}

export function isSingle(mask: number): boolean {
  return (mask & (mask - 1)) === 0;
}

/** The position of the only witness of a mask. */
const codeOf = (mask: number) => 31 - Math.clz32(mask);

/** @param codes of the fields that the turn has, in the order of `WITNESSED_FIELDS`; 0 for the others */
export function packProvenance(mask: number, codes: readonly number[]): Provenance {
  if (mask === HARNESS_ALONE) return 0;
  if (isSingle(mask)) return mask;
  // Without a sign: the last field has the highest bits.
  return (
    codes.reduce((packed, code, index) => packed | (code << (WITNESS_BITS + CODE_BITS * index)), mask) >>> 0
  );
}

const RANKS = WITNESSES.map((witness) => TRUST.length - TRUST.indexOf(witness));

/** Trust in a witness by its position; greater is better. An unknown position ranks last. */
export function rankOf(code: number): number {
  return RANKS[code] ?? 0;
}

/** Window sizes by the position of the witness that reported them, in tokens. */
export type WindowClaims = readonly (number | undefined)[];

/** The size of the most trusted witness that reported one. */
export function trustedClaim(claims: WindowClaims): number | undefined {
  for (const witness of WINDOW_TRUST) {
    const tokens = claims[WITNESSES.indexOf(witness)];
    if (tokens !== undefined) return tokens;
  }
  return undefined;
}

/** What a turn keeps of the window sizes that were reported with it. */
export interface ReportedSizes {
  provenance: Provenance;
  /** The size of the most trusted witness. */
  sentLimit: number | undefined;
  limitClaims: WindowClaims | undefined;
}

/** A turn with one witness has no claims of its own: its only size is `sentLimit`. */
export function claimsOf({ provenance, sentLimit, limitClaims }: ReportedSizes): WindowClaims {
  if (limitClaims !== undefined) return limitClaims;
  const mask = witnessMask(provenance);
  if (sentLimit === undefined || !isSingle(mask)) return [];
  const code = codeOf(mask);
  return Array.from({ length: code + 1 }, (_, index) => (index === code ? sentLimit : undefined));
}

/** What each witness said of the window, most trusted first. Tokens. */
export function claimsByWitness(sizes: ReportedSizes): { witness: Witness; tokens: number }[] {
  const claims = claimsOf(sizes);
  return WINDOW_TRUST.flatMap((witness) => {
    const tokens = claims[WITNESSES.indexOf(witness)];
    return tokens === undefined ? [] : [{ witness, tokens }];
  });
}
