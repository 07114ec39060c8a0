import { catalogWindow } from "@plimsoll/fold";
import { THRESHOLD_NAMES } from "@plimsoll/protocol/pure";
import { GuardError } from "../error.ts";
import { DEFAULT_POLICY, type PolicyInput } from "./policy.ts";

/** Checks one value. Returns what is wrong with it and how to write it, or undefined. */
type Rule = (value: unknown) => string | undefined;

const fraction: Rule = (value) =>
  typeof value === "number" && value >= 0 && value <= 1
    ? undefined
    : "must be a fraction from 0 to 1, such as 0.1 for 10 %";
const count: Rule = (value) =>
  Number.isInteger(value) && (value as number) >= 0 ? undefined : "must be a whole number of 0 or more";
const countOrNull: Rule = (value) =>
  value === null ? undefined : count(value) && "must be a whole number of 0 or more, or null for no limit";
const oneOf =
  (...values: readonly string[]): Rule =>
  (value) =>
    values.includes(value as string) ? undefined : `must be ${values.map((one) => `"${one}"`).join(" or ")}`;
const flag: Rule = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const names: Rule = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === "string")
    ? undefined
    : "must be a list of names of tools";

const PERCENT = /^\d+(?:\.\d+)?%$/;

const threshold: Rule = (value) => {
  if (value === null) return undefined;
  if (typeof value === "string") {
    const share = Number.parseFloat(value);
    if (PERCENT.test(value) && share > 0 && share <= 100) return undefined;
    return `must be a share of the window such as "20%", a number of tokens, or null to switch it off`;
  }
  if (typeof value === "object") return shareWithFloor(value);
  if (typeof value !== "number" || !Number.isFinite(value) || value === 0)
    return `must be a number of tokens, a share of the window such as "20%", or null to switch it off`;
  if (Number.isInteger(value)) return undefined;
  return Math.abs(value) < 1
    ? `would be ${value} tokens. Write "${Number((Math.abs(value) * 100).toPrecision(6))}%" for a share of the window`
    : "must be a whole number of tokens";
};

function shareWithFloor(value: object): string | undefined {
  const { percent, floor, ...rest } = value as { percent?: unknown; floor?: unknown };
  const isShare = typeof percent === "number" && percent > 0 && percent <= 100;
  if (isShare && Number.isInteger(floor) && (floor as number) > 0 && Object.keys(rest).length === 0)
    return undefined;
  return "must have a percent above 0 and at most 100 and a floor in tokens, such as { percent: 20, floor: 40_000 }";
}

const RULES = {
  thresholds: Object.fromEntries(THRESHOLD_NAMES.map((name) => [name, threshold])),
  mask: {
    keepTurns: count,
    keepTokens: count,
    exclude: names,
    minTokens: count,
    minGain: fraction,
    headroom: fraction,
    keepErrors: flag,
    inputs: flag,
    longTexts: countOrNull,
  },
  compact: {
    how: oneOf("compact", "fresh_session"),
    keepTurns: count,
    keepUserWords: fraction,
    minGain: fraction,
  },
  pace: { roomTurns: count, minTurns: count },
  restart: {
    how: oneOf("auto", "ask", "off"),
    graceTurns: count,
    carryoverTurns: count,
    carryoverShare: fraction,
    carryoverTokens: count,
    max: countOrNull,
  },
} satisfies Record<string, Record<string, Rule>>;

/**
 * Checks what a harness wrote as its policy.
 * @throws {GuardError} `invalid_option`: the message names the field and how to write it
 */
export function checkPolicy(policy: PolicyInput): void {
  const given = policy as Record<string, unknown>;
  refuseUnknown("policy", given, Object.keys(DEFAULT_POLICY));
  if (given.mode !== undefined) check("policy.mode", given.mode, oneOf("enforce", "warn_only"));
  if (given.overflow !== undefined)
    check("policy.overflow", given.overflow, oneOf("cut", "refuse", "send_anyway"));
  for (const [part, rules] of Object.entries(RULES) as [string, Record<string, Rule>][]) {
    const value = given[part];
    if (value === undefined || (value === null && part !== "thresholds" && part !== "pace")) continue;
    const path = `policy.${part}`;
    if (typeof value !== "object" || value === null) throw invalid(path, "must be an object");
    refuseUnknown(path, value as Record<string, unknown>, Object.keys(rules));
    for (const [field, one] of Object.entries(value))
      if (one !== undefined) check(`${path}.${field}`, one, rules[field]!);
  }
}

/** What is wrong with a value of one field of a policy, and how to write it; undefined if nothing is. */
export function wrongValue(part: keyof typeof RULES, field: string, value: unknown): string | undefined {
  return (RULES[part] as Record<string, Rule>)[field]!(value);
}

/**
 * Checks a window size.
 * @throws {GuardError} `invalid_option`
 */
export function checkWindow(window: unknown): void {
  if (window === undefined || typeof window === "function") return;
  if (typeof window === "string") {
    const rule: Rule = () =>
      catalogWindow(window) === undefined
        ? "is not in the catalog of models. Pass the size in tokens, such as 128_000"
        : undefined;
    check("window", window, rule);
    return;
  }
  check("window", window, (value) =>
    Number.isInteger(value) && (value as number) > 0
      ? undefined
      : "must be a whole number of tokens such as 128_000, the id of a model, or a function that returns it by model name",
  );
}

function check(path: string, value: unknown, rule: Rule): void {
  const wrong = rule(value);
  if (wrong !== undefined) throw invalid(path, `${JSON.stringify(value) ?? String(value)} ${wrong}`);
}

function refuseUnknown(path: string, given: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(given).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw invalid(`${path}.${unknown}`, `is no option. Options: ${known.join(", ")}`);
}

const invalid = (path: string, what: string) => new GuardError("invalid_option", `${path}: ${what}.`);
