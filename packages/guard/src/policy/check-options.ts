import { catalogWindow } from "@plimsoll/fold";
import { THRESHOLD_NAMES, thresholdTokens } from "@plimsoll/protocol/pure";
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

const func: Rule = (value) => (typeof value === "function" ? undefined : "must be a function");
const text: Rule = (value) =>
  typeof value === "string" && value !== "" ? undefined : "must be a text that is not empty";
const time: Rule = (value) =>
  typeof value === "number" && value >= 0 ? undefined : "must be a time in ms of 0 or more";
const anything: Rule = () => undefined;
const methods =
  (...names: readonly string[]): Rule =>
  (value) =>
    names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === "function")
      ? undefined
      : `must be an object with the functions ${names.join(", ")}`;
const identity: Rule = (value) =>
  text((value as { harness?: unknown } | null | undefined)?.harness) &&
  'must name the harness, such as { harness: "my-bot@host-1" }';

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

const GUARD_OPTIONS: Readonly<Record<string, Rule>> = {
  identity,
  policy: anything,
  shape: methods("read", "replace", "user"),
  model: text,
  window: anything,
  overheadTokens: count,
  tokenizer: func,
  store: methods("put", "get"),
  placeholder: func,
  notices: oneOf("merge", "system", "off"),
  noticeCounts: oneOf("by_model", "always", "never"),
  notesFile: text,
  onEvent: func,
  onWarning: func,
  clock: func,
};

/** Also those that adapters and sessions take: a wrapped client passes them on. */
const FIT_OPTIONS: Readonly<Record<string, Rule>> = {
  summarize: (value) =>
    typeof value === "function" || value === "without_model"
      ? undefined
      : 'must be a function or "without_model"',
  summaryModel: (value) =>
    typeof value === "function" || text(value) === undefined
      ? undefined
      : "must be the name of a model or a function",
  summarizeMs: time,
  countTokens: func,
  say: func,
  confirm: func,
  onSummaryError: func,
  signal: anything,
  besides: anything,
  model: anything,
  outputTokens: count,
  conversation: func,
  onStop: oneOf("throw", "send"),
};

/**
 * Checks the options of a guard, or of what is built on one.
 * @param others names of further options
 * @throws {GuardError} `invalid_option`
 */
export function checkOptions(options: object, others: readonly string[]): void {
  const given = options as Record<string, unknown>;
  refuseUnknown("", given, [...Object.keys(GUARD_OPTIONS), ...others]);
  checkValues(given, GUARD_OPTIONS);
  for (const name of others) {
    const rule = FIT_OPTIONS[name];
    if (rule !== undefined && given[name] !== undefined) check(name, given[name], rule);
  }
  if (given.identity === undefined) check("identity", undefined, identity);
  const { policy = {}, window } = given as { policy?: PolicyInput; window?: unknown };
  checkPolicy(policy);
  checkWindow(window);
  const tokens = typeof window === "number" ? window : undefined;
  const { soft = null, hard = null } = policy.thresholds ?? {};
  const size = tokens ?? Number.MAX_SAFE_INTEGER;
  const [from, to] = [thresholdTokens("soft", soft, size), thresholdTokens("hard", hard, size)];
  // A share and a number of tokens can only be compared in a known window.
  const comparable = tokens !== undefined || typeof soft === typeof hard;
  if (comparable && from !== undefined && to !== undefined && from > to)
    throw invalid(
      "policy.thresholds.soft",
      `${JSON.stringify(soft)} is above hard, ${JSON.stringify(hard)}. The guard masks at the soft line and restarts at the hard line`,
    );
}

/**
 * Checks the options of `fit`, an adapter or a wrapped client.
 * @throws {GuardError} `invalid_option`
 */
export function checkFitOptions(options: object): void {
  refuseUnknown("", options as Record<string, unknown>, Object.keys(FIT_OPTIONS));
  checkValues(options as Record<string, unknown>, FIT_OPTIONS);
}

function checkValues(given: Record<string, unknown>, rules: Readonly<Record<string, Rule>>): void {
  for (const [name, rule] of Object.entries(rules))
    if (given[name] !== undefined) check(name, given[name], rule);
}

/**
 * Checks what a harness wrote as its policy.
 * @throws {GuardError} `invalid_option`: the message names the field and how to write it
 */
export function checkPolicy(policy: PolicyInput): void {
  const given = policy as Record<string, unknown>;
  if (typeof policy !== "object" || policy === null) throw invalid("policy", "must be an object");
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
  if (wrong !== undefined) throw invalid(path, `${shown(value)} ${wrong}`);
}

/** A value as text. What has a cycle is not shown. */
function shown(value: unknown): string {
  try {
    return JSON.stringify(value)?.slice(0, 200) ?? String(value);
  } catch {
    return "the value";
  }
}

function refuseUnknown(path: string, given: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(given).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw invalid(path === "" ? unknown : `${path}.${unknown}`, `is no option. Options: ${known.join(", ")}`);
}

const invalid = (path: string, what: string) => new GuardError("invalid_option", `${path}: ${what}.`);
