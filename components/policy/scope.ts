import { familyOf, type PolicyBody, type PolicyOrigin, type PolicySettings } from "@plimsoll/protocol/policy";
import { withValue } from "./policy-text.ts";
import { type EditedScope, scopeKey, scopeText } from "./scope-key.ts";

/** Where a field of an effective policy comes from, in words. */
export function originText(origin: PolicyOrigin | undefined, harness: string): string {
  if (origin === undefined) return "not set";
  if (origin.from === "project") return "from all agents";
  return origin.from === "layer"
    ? `from ${scopeText(origin.scope)}`
    : harness.includes("@")
      ? `the default of ${familyOf(harness)}`
      : "the default";
}

/** An agent that a scope applies to, for which its effective policy can be worked out. */
export function subjectOf(scope: EditedScope): { harness: string; model: string | undefined } {
  const harness = scope?.harness ?? (scope?.family === undefined ? "any harness" : `${scope.family}@any`);
  return { harness, model: scope?.model?.replaceAll("*", "") };
}

/** The layer of a scope; -1 if there is none, or for all agents. */
export function layerOf({ layers }: PolicyBody, scope: EditedScope): number {
  const key = scopeKey(scope);
  return scope === undefined ? -1 : layers.findIndex((layer) => scopeKey(layer.scope) === key);
}

/** Sets or removes a field of a scope in a policy's text; a layer that is missing is added. */
export function withField(
  text: string,
  body: PolicyBody,
  scope: EditedScope,
  path: readonly [string, ...string[]],
  value: unknown,
): string {
  if (scope === undefined) return withValue(text, ["settings", ...path], value);
  const layer = layerOf(body, scope);
  if (layer >= 0) return withValue(text, ["layers", layer, "settings", ...path], value);
  if (value === undefined) return text;
  const settings = path.toReversed().reduce<unknown>((inner, key) => ({ [key]: inner }), value);
  return withValue(text, ["layers", body.layers.length], { scope, settings });
}

/** The settings of one scope, by path. */
export function fieldOf(body: PolicyBody, scope: EditedScope, path: readonly string[]): unknown {
  const settings = scope === undefined ? body.settings : body.layers[layerOf(body, scope)]?.settings;
  return valueAt(settings, path);
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
    value,
  );
}

/** Replaces the settings of a scope by those of a preset. */
export function withPreset(
  text: string,
  body: PolicyBody,
  scope: EditedScope,
  preset: PolicySettings,
): string {
  if (scope === undefined) return withValue(text, ["settings"], preset);
  const layer = layerOf(body, scope);
  return withValue(text, ["layers", layer < 0 ? body.layers.length : layer], { scope, settings: preset });
}
