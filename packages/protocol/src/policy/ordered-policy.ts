import { PolicyBody, PolicyScope, PolicySettings } from "./policy-schema.ts";

/**
 * A policy with its fields in the order of the schema, and without empty parts. JSON from a database has no order, and people compare
 * texts. Unknown fields come last, by name.
 */
export function orderedPolicy({ settings, layers, ...rest }: PolicyBody): Record<string, unknown> {
  return {
    ...(Object.keys(settings).length > 0 && { settings: orderedSettings(settings) }),
    ...(layers.length > 0 && {
      layers: layers.map(({ scope, settings: own, ...others }) => ({
        scope: sorted(scope, Object.keys(PolicyScope.shape)),
        settings: orderedSettings(own),
        ...others,
      })),
    }),
    ...sorted(rest, Object.keys(PolicyBody.shape)),
  };
}

function orderedSettings(settings: PolicySettings): Record<string, unknown> {
  const groups = sorted(settings, Object.keys(PolicySettings.shape));
  return Object.fromEntries(
    Object.entries(groups).map(([name, value]) => [
      name,
      isGroup(value) ? sorted(value, fieldsOf(name)) : value,
    ]),
  );
}

/** The fields of a group, in the order of the schema. */
function fieldsOf(group: string): string[] {
  const schema = (PolicySettings.shape as Record<string, unknown>)[group];
  const inner = (schema as { unwrap?: () => { shape?: object } } | undefined)?.unwrap?.();
  return Object.keys(inner?.shape ?? {});
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function sorted(value: object, names: readonly string[]): Record<string, unknown> {
  const place = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length);
  return Object.fromEntries(
    Object.entries(value).sort(([one], [other]) => place(one) - place(other) || (one < other ? -1 : 1)),
  );
}
