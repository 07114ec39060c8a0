import type { PolicyScope } from "@plimsoll/protocol/policy";

/** What a part of a policy applies to; undefined: to all agents. */
export type EditedScope = PolicyScope | undefined;

const PARTS = ["family", "model", "harness"] as const;

/** A scope as it stands in an address: `family=phantom`; empty for all agents. */
export function scopeKey(scope: EditedScope): string {
  return PARTS.filter((part) => scope?.[part] !== undefined)
    .map((part) => `${part}=${encodeURIComponent(scope![part]!)}`)
    .join("&");
}

/** What an address says; undefined for all agents. */
export function scopeOf(key: string): EditedScope {
  const params = new URLSearchParams(key);
  const scope = Object.fromEntries(
    PARTS.flatMap((part) => {
      const value = params.get(part)?.trim();
      return value ? [[part, value]] : [];
    }),
  );
  return Object.keys(scope).length === 0 ? undefined : scope;
}

/** A scope in words, such as `phantom, model claude-*`. */
export function scopeText(scope: EditedScope): string {
  if (scope === undefined) return "All agents";
  const { family, model, harness } = scope;
  return [harness, family, model === undefined ? undefined : `model ${model}`]
    .filter((part) => part !== undefined)
    .join(", ");
}

/** The address of the editor with a change of a scope's ceiling, in tokens. */
export const ceilingHref = (scope: PolicyScope, tokens: number): string =>
  `/policies?scope=${encodeURIComponent(scopeKey(scope))}&ceiling=${tokens}`;

/** The address of the editor, at the settings of one harness. */
export const adjustHref = (harness: string): string =>
  `/policies?scope=${encodeURIComponent(scopeKey({ harness }))}`;
