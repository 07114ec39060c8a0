import type { PolicyBody, PolicyScope, PolicySettings } from "./policy-schema.ts";

/** The agent that a policy is resolved for. */
export interface PolicySubject {
  /** The harness instance, such as `phantom@vm-3`. */
  harness: string;
  model?: string | undefined;
}

/** Where a field of an effective policy comes from: a layer by its place, the project, or the family's default. */
export type PolicyOrigin =
  | { from: "layer"; layer: number; scope: PolicyScope }
  | { from: "project" }
  | { from: "default" };

/** The policy of one harness. */
export interface ResolvedSettings {
  settings: PolicySettings;
  /** By the path of each field, such as `thresholds.ceiling`. */
  origins: Readonly<Record<string, PolicyOrigin>>;
}

/** The family of a harness: its name before `@`. */
export const familyOf = (harness: string): string => harness.split("@", 1)[0]!.toLowerCase();

/** Weight of each part of a scope: an instance is more specific than any model, and a model than any family. */
const WEIGHTS = { harness: 4, model: 2, family: 1 } as const;

/**
 * Resolves a policy for a harness: the most specific layer wins, field by field. Of two layers that are as specific, the later one
 * wins, and of two model patterns the longer one.
 */
export function resolveForHarness(
  body: PolicyBody,
  subject: PolicySubject,
  defaults: PolicySettings,
): ResolvedSettings {
  const layers = body.layers
    .map(({ scope, settings }, layer) => ({ scope, settings, layer }))
    .filter(({ scope }) => applies(scope, subject))
    .sort(
      (one, other) =>
        weightOf(one.scope) - weightOf(other.scope) ||
        patternLength(one.scope) - patternLength(other.scope) ||
        one.layer - other.layer,
    );
  const origins: Record<string, PolicyOrigin> = {};
  let settings: PolicySettings = {};
  const add = (more: PolicySettings, origin: PolicyOrigin) => {
    settings = merged(settings, more, (path) => {
      origins[path] = origin;
    });
  };
  add(defaults, { from: "default" });
  add(body.settings, { from: "project" });
  for (const { layer, scope, settings: own } of layers) add(own, { from: "layer", layer, scope });
  return { settings, origins };
}

function applies({ family, model, harness }: PolicyScope, subject: PolicySubject): boolean {
  if (family !== undefined && family.toLowerCase() !== familyOf(subject.harness)) return false;
  if (harness !== undefined && harness !== subject.harness) return false;
  return model === undefined || (subject.model !== undefined && matchesPattern(model, subject.model));
}

/** Whether a name matches a pattern in which `*` matches any characters. Linear in the length of both. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first, ...rest] = pattern.toLowerCase().split("*");
  const asked = name.toLowerCase();
  if (rest.length === 0) return asked === first;
  if (!asked.startsWith(first!)) return false;
  let from = first!.length;
  const last = rest.pop()!;
  for (const piece of rest) {
    const at = asked.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return asked.length - last.length >= from && asked.endsWith(last);
}

const weightOf = (scope: PolicyScope) =>
  (Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[]).reduce(
    (sum, part) => sum + (scope[part] === undefined ? 0 : WEIGHTS[part]),
    0,
  );

const patternLength = ({ model = "" }: PolicyScope) => model.replaceAll("*", "").length;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Groups of settings are merged field by field; any other value replaces the one before. */
function merged(before: Fields, more: Fields, took: (path: string) => void): PolicySettings {
  const result: Fields = { ...before };
  for (const [name, value] of Object.entries(more)) {
    if (value === undefined || name === "__proto__") continue;
    if (!isFields(value)) {
      result[name] = value;
      took(name);
      continue;
    }
    const group = isFields(result[name]) ? { ...(result[name] as Fields) } : {};
    for (const [field, own] of Object.entries(value)) {
      if (own === undefined || field === "__proto__") continue;
      group[field] = own;
      took(`${name}.${field}`);
    }
    result[name] = group;
  }
  return result;
}
