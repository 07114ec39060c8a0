import { plainMistake } from "../plain-mistake.ts";
import { safeParse } from "../safe-parse.ts";
import { PolicyBody, type PolicySettings } from "./policy-schema.ts";
import { THRESHOLD_NAMES, THRESHOLD_ORDER, type ThresholdValue, thresholdText } from "./threshold-rules.ts";

/** A mistake in a policy: where it is, and how to mend it. */
export interface PolicyMistake {
  /** Such as `settings.thresholds.soft` or `layers.2.settings.thresholds.soft`. */
  path: string;
  message: string;
}

/**
 * Reads a policy that somebody wrote.
 * @returns the policy, or every mistake in it
 */
export function readPolicy(
  value: unknown,
): { ok: true; body: PolicyBody } | { ok: false; mistakes: PolicyMistake[] } {
  const unstorable = [...unstorableIn(value, [])];
  if (unstorable.length > 0) return { ok: false, mistakes: unstorable };
  const parsed = safeParse(PolicyBody, value, { error: plainMistake });
  if (!parsed.success) {
    const mistakes = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
    return { ok: false, mistakes };
  }
  const { settings, layers } = parsed.data;
  const mistakes = [
    ...mistakesIn(settings, "settings"),
    ...layers.flatMap((layer, place) => mistakesIn(layer.settings, `layers.${place}.settings`)),
    ...layers.flatMap(({ scope }, place) =>
      Object.keys(scope).length > 0
        ? []
        : [
            {
              path: `layers.${place}.scope`,
              message: "must name a family, a model or a harness. Put what applies to all agents in settings",
            },
          ],
    ),
  ];
  return mistakes.length === 0 ? { ok: true, body: parsed.data } : { ok: false, mistakes };
}

/** Values that JSON allows and no database or hash can hold, also in fields that this version does not know. */
function* unstorableIn(value: unknown, path: readonly (string | number)[]): Generator<PolicyMistake> {
  const mistake = (message: string): PolicyMistake => ({ path: path.join("."), message });
  if (typeof value === "string") {
    if (!isStorable(value)) yield mistake(NOT_STORABLE);
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) yield mistake("is too large for a number");
  } else if (Array.isArray(value)) {
    for (const [place, one] of value.entries()) yield* unstorableIn(one, [...path, place]);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      if (isStorable(key)) yield* unstorableIn(one, [...path, key]);
      else yield mistake(`has a field whose name ${NOT_STORABLE}`);
    }
  }
}

/** Whether PostgreSQL can store a text. */
export const isStorable = (text: string) => text.isWellFormed() && !text.includes("\u0000");
export const NOT_STORABLE = "must not contain a NUL character or half of a surrogate pair";

function mistakesIn(settings: PolicySettings, path: string): PolicyMistake[] {
  return [...shareMistakes(settings, path), ...orderMistakes(settings, path)];
}

/** `"0%"` switches nothing off, and a share of the window is never above it. */
function shareMistakes({ thresholds = {} }: PolicySettings, path: string): PolicyMistake[] {
  return THRESHOLD_NAMES.flatMap((name) => {
    const value = thresholds[name];
    const at = `${path}.thresholds.${name}`;
    if (value === 0 || value === "0%")
      return [{ path: at, message: "0 is no line. Write null to switch it off" }];
    return [];
  });
}

function orderMistakes({ thresholds = {} }: PolicySettings, path: string): PolicyMistake[] {
  return THRESHOLD_ORDER.flatMap(([first, second]) => {
    const [low, high] = [thresholds[first], thresholds[second]];
    if (low == null || high == null || !isAbove(low, high)) return [];
    const message = `${thresholdText(low)} must be below ${second}, which is ${thresholdText(high)}. Lower ${first} or raise ${second}`;
    return [{ path: `${path}.thresholds.${first}`, message }];
  });
}

/** Whether the first of two thresholds is at or above the second in a window of any size. */
function isAbove(low: ThresholdValue, high: ThresholdValue): boolean {
  const [one, other] = [shareOf(low), shareOf(high)];
  if (one !== undefined && other !== undefined) return one >= other;
  if (typeof low !== "number" || typeof high !== "number") return false;
  // Two counts, or two counts of tokens that stay free. Of these the smaller one is the higher line.
  return low > 0 === high > 0 && low >= high;
}

function shareOf(value: ThresholdValue): number | undefined {
  return typeof value === "string" ? Number.parseFloat(value) : undefined;
}
