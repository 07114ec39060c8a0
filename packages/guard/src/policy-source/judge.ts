import type { PlimsollEventInput, PolicySettings } from "@plimsoll/protocol/pure";
import type { PolicyInput } from "../policy/policy.ts";
import {
  flatSettings,
  GUARD_SETTINGS,
  policyInputOf,
  settingsOf,
  wrongSetting,
} from "../policy/policy-settings.ts";
import { checkBound } from "./bounds.ts";
import type { PolicySourceOptions } from "./options.ts";

type PolicyAck = Extract<PlimsollEventInput, { type: "policy_ack" }>;
export type AckCode = NonNullable<PolicyAck["code"]>;
export type AckDifference = NonNullable<PolicyAck["differences"]>[number];

/** What the harness allows the server to set. */
export type LocalLimits = Pick<PolicySourceOptions, "allow" | "bounds" | "onOutOfBounds" | "handles">;

/** What becomes of a policy in this harness. */
export type Judgement =
  | {
      kind: "accepted";
      policy: PolicyInput;
      /** All settings that will be in force. */
      effective: PolicySettings;
      differences: readonly AckDifference[];
    }
  | { kind: "rejected"; code: AckCode; message: string };

/** Decides what becomes of settings whose hash is right: validates them, and applies the harness's own limits. Pure. */
export function judge(settings: PolicySettings, own: PolicyInput, limits: LocalLimits): Judgement {
  const wrong = firstMistake(settings);
  if (wrong !== undefined) return { kind: "rejected", code: "invalid", message: wrong };
  const { allow = GUARD_SETTINGS, bounds = {}, onOutOfBounds = "reject", handles = [] } = limits;
  const wanted = flatSettings(settings);
  const known = new Set([...GUARD_SETTINGS, ...handles]);
  const taken = new Map<string, unknown>();
  const differences: AckDifference[] = [];
  for (const [path, value] of wanted) {
    if (!known.has(path)) {
      differences.push(difference(path, "unsupported", value));
      continue;
    }
    if (!handles.includes(path) && !isAllowed(path, allow)) {
      differences.push(difference(path, "not_allowed", value));
      continue;
    }
    const bound = Object.hasOwn(bounds, path) ? bounds[path]! : {};
    const checked = checkBound(path, value, bound);
    if (!checked.ok && onOutOfBounds === "reject")
      return { kind: "rejected", code: "out_of_bounds", message: outOfBounds(path, value, checked.nearest) };
    if (!checked.ok) differences.push(difference(path, "clamped", value, checked.nearest));
    taken.set(path, checked.ok ? value : checked.nearest);
  }
  const mapped = policyInputOf(nested(taken), own);
  const handled = new Map([...taken].filter(([path]) => !GUARD_SETTINGS.includes(path)));
  const effective = merged(settingsOf(mapped.policy), nested(handled));
  const inForce = flatSettings(effective);
  for (const path of mapped.disabled) differences.push(difference(path, "local_override", wanted.get(path)));
  return {
    kind: "accepted",
    policy: mapped.policy,
    effective,
    differences: differences.map((one) =>
      one.effective !== undefined || !inForce.has(one.path)
        ? one
        : { ...one, effective: shown(inForce.get(one.path)) },
    ),
  };
}

const isAllowed = (path: string, allow: readonly string[]) =>
  allow.some((one) => path === one || path.startsWith(`${one}.`));

function firstMistake(settings: PolicySettings): string | undefined {
  for (const [path, value] of flatSettings(settings)) {
    const wrong = wrongSetting(path, value);
    if (wrong !== undefined) return `${path}: ${JSON.stringify(value)?.slice(0, 100)} ${wrong}`;
  }
  return undefined;
}

function outOfBounds(path: string, value: unknown, nearest: unknown): string {
  return `${path}: ${JSON.stringify(value)} is out of this harness's bounds. The nearest value it takes is ${JSON.stringify(nearest)}`;
}

function difference(path: string, code: AckCode, wanted: unknown, effective?: unknown): AckDifference {
  return {
    path: path.slice(0, 128) || "(empty)",
    code,
    wanted: shown(wanted),
    ...(effective === undefined ? {} : { effective: shown(effective) }),
  };
}

/** A value in the form that an acknowledgement may hold. */
function shown(value: unknown): AckDifference["wanted"] {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 200);
}

function nested(flat: ReadonlyMap<string, unknown>): PolicySettings {
  const settings: Record<string, unknown> = {};
  for (const [path, value] of flat) {
    const [group, field] = path.split(".") as [string, string | undefined];
    if (field === undefined) settings[group] = value;
    else settings[group] = { ...(settings[group] as object | undefined), [field]: value };
  }
  return settings as PolicySettings;
}

function merged(one: PolicySettings, other: PolicySettings): PolicySettings {
  const groups = Object.entries(other).map(([name, value]) => [
    name,
    typeof value === "object" && value !== null ? { ...(one[name] as object | undefined), ...value } : value,
  ]);
  return { ...one, ...Object.fromEntries(groups) };
}
