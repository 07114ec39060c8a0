import type { PolicySettings } from "@plimsoll/protocol/pure";
import { wrongValue } from "./check-options.ts";
import { type GuardPolicy, type PolicyInput, resolvePolicy } from "./policy.ts";

/** What a guard makes of a policy's settings. */
export interface MappedSettings {
  /** The harness's own policy with the settings in it. */
  policy: PolicyInput;
  /** Paths of settings that the guard does not have, such as `split.files`. */
  unsupported: readonly string[];
  /** Paths of settings of a response that the harness's own policy disables, and that the settings do not enable. */
  disabled: readonly string[];
}

type Part = "thresholds" | "mask" | "compact" | "pace" | "restart";
type Fields = Record<string, unknown>;

/** Where the guard keeps each setting that has the same meaning in both. */
const FIELDS: Readonly<Record<string, readonly [part: Part, field: string]>> = {
  "thresholds.warning": ["thresholds", "warning"],
  "thresholds.ceiling": ["thresholds", "ceiling"],
  "thresholds.soft": ["thresholds", "soft"],
  "thresholds.hard": ["thresholds", "hard"],
  "thresholds.reserve": ["thresholds", "reserve"],
  "masking.keep_turns": ["mask", "keepTurns"],
  "masking.keep_tokens": ["mask", "keepTokens"],
  "masking.exclude": ["mask", "exclude"],
  "masking.min_gain": ["mask", "minGain"],
  "masking.inputs": ["mask", "inputs"],
  "compaction.mode": ["compact", "how"],
  "compaction.keep_turns": ["compact", "keepTurns"],
  "compaction.keep_user_words": ["compact", "keepUserWords"],
  "compaction.min_gain": ["compact", "minGain"],
  "pace.room_turns": ["pace", "roomTurns"],
  "pace.min_turns": ["pace", "minTurns"],
  "restart.mode": ["restart", "how"],
  "restart.grace_turns": ["restart", "graceTurns"],
  "restart.carryover_turns": ["restart", "carryoverTurns"],
  "restart.max": ["restart", "max"],
};

/** Settings that decide whether a response is enabled at all. */
const SWITCHES: Readonly<Record<string, { part: "mask" | "compact" | "restart"; off: unknown }>> = {
  "masking.enabled": { part: "mask", off: false },
  "compaction.mode": { part: "compact", off: "off" },
  "restart.mode": { part: "restart", off: "off" },
};

/** Paths of all settings that the guard has. */
export const GUARD_SETTINGS: readonly string[] = [
  "enforcement",
  ...Object.keys(FIELDS),
  "masking.enabled",
  "overflow",
];

/**
 * Converts a policy's settings to the policy of a guard.
 * @param own the harness's own policy, for what the settings do not name
 * @example
 * const { policy, unsupported } = policyInputOf({ thresholds: { ceiling: "50%" }, split: { files: 4 } });
 * const guard = createGuard({ identity, policy });
 * console.log(unsupported); // ["split.files"]
 */
export function policyInputOf(settings: PolicySettings, own: PolicyInput = {}): MappedSettings {
  const flat = flatSettings(settings);
  const policy: Fields = { ...own };
  if (settings.enforcement !== undefined) policy.mode = settings.enforcement;
  if (settings.overflow !== undefined) policy.overflow = settings.overflow;
  for (const [path, { part, off }] of Object.entries(SWITCHES)) {
    const value = flat.get(path);
    if (value === undefined) continue;
    policy[part] = value === off ? null : { ...(policy[part] as Fields | null | undefined) };
  }
  const disabled: string[] = [];
  for (const [path, [part, field]] of Object.entries(FIELDS)) {
    const value = flat.get(path);
    if (value === undefined) continue;
    if (policy[part] !== null) policy[part] = { ...(policy[part] as Fields | undefined), [field]: value };
    else if (!isSwitchedOff(flat, part)) disabled.push(path);
  }
  const unsupported = [...flat.keys()].filter((path) => !GUARD_SETTINGS.includes(path));
  return { policy: policy as PolicyInput, unsupported, disabled };
}

function isSwitchedOff(flat: ReadonlyMap<string, unknown>, part: Part): boolean {
  return Object.entries(SWITCHES).some(([path, one]) => one.part === part && flat.get(path) === one.off);
}

/**
 * Returns the settings that a guard's policy stands for: every setting that the guard has.
 * @example
 * console.log(settingsOf({ thresholds: { ceiling: "50%" } }).thresholds?.ceiling); // "50%"
 */
export function settingsOf(input: PolicyInput): PolicySettings {
  const policy: GuardPolicy = resolvePolicy(input);
  const settings: Record<string, Fields> = {};
  for (const [path, [part, field]] of Object.entries(FIELDS)) {
    const [group, name] = path.split(".") as [string, string];
    const values = policy[part] as unknown as Fields | null;
    if (values !== null) settings[group] = { ...settings[group], [name]: values[field] };
  }
  return {
    enforcement: policy.mode,
    ...settings,
    masking: { ...settings.masking, enabled: policy.mask !== null },
    ...(policy.compact === null ? { compaction: { mode: "off" } } : {}),
    ...(policy.restart === null ? { restart: { mode: "off" } } : {}),
    overflow: policy.overflow,
  };
}

const GROUPS = new Set(Object.keys(FIELDS).map((path) => path.split(".", 1)[0]!));

/** What is wrong with a setting and how to write it. Undefined for a right one, and for one that the guard does not have. */
export function wrongSetting(path: string, value: unknown): string | undefined {
  if (GROUPS.has(path)) return "must be an object";
  if (path === "enforcement") return isOneOf(value, "enforce", "warn_only");
  if (path === "overflow") return isOneOf(value, "cut", "refuse", "send_anyway");
  if (path === "masking.enabled") return isFlag(value);
  if (SWITCHES[path]?.off === value) return undefined;
  if (Object.hasOwn(ELSEWHERE, path)) return ELSEWHERE[path]!(value);
  const field = Object.hasOwn(FIELDS, path) ? FIELDS[path] : undefined;
  return field && wrongValue(field[0], field[1], value);
}

/** Settings that the guard does not have, and that a harness may obey itself. */
const ELSEWHERE: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  "loop.max_context_pct": (value) =>
    typeof value === "number" && value > 0 && value <= 100
      ? undefined
      : "must be a number above 0, at most 100",
  "compaction.reinject": isFlag,
  "notifications.compacting": isFlag,
  "notifications.boundary": (value) => isOneOf(value, "silent", "visible"),
  ...Object.fromEntries(
    ["issues", "files", "complex_tasks", "reads"].map((name) => [`split.${name}`, isCount]),
  ),
};

function isFlag(value: unknown): string | undefined {
  return typeof value === "boolean" ? undefined : "must be true or false";
}

function isCount(value: unknown): string | undefined {
  return Number.isInteger(value) && (value as number) >= 0
    ? undefined
    : "must be a whole number of 0 or more";
}

function isOneOf(value: unknown, ...values: readonly string[]): string | undefined {
  return values.includes(value as string)
    ? undefined
    : `must be ${values.map((one) => `"${one}"`).join(" or ")}`;
}

/** The settings by path, such as `thresholds.ceiling`. A group is two levels deep at most. */
export function flatSettings(settings: PolicySettings): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      if (value !== undefined) flat.set(name, value);
      continue;
    }
    for (const [field, one] of Object.entries(value))
      if (one !== undefined) flat.set(`${name}.${field}`, one);
  }
  return flat;
}
