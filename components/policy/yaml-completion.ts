/** What may follow at a place in the text of a policy. */
export interface Suggestion {
  label: string;
  /** What is inserted; the label if it is missing. */
  apply?: string;
  detail?: string;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
}

/** A line of YAML: `- key: value`, as far as it is written. */
const LINE = /^(?<indent>\s*)(?<dash>(?:-\s+)*)(?:(?<key>[A-Za-z_][\w-]*)\s*:)?\s*(?<rest>.*)$/;

interface Place {
  indent: number;
  key: string | undefined;
  rest: string;
  inList: boolean;
}

function placeOf(line: string): Place {
  const { indent = "", dash = "", key, rest = "" } = LINE.exec(line)!.groups!;
  return { indent: indent.length + dash.length, key, rest, inList: dash !== "" };
}

/**
 * Suggests keys and values of a policy.
 * @param schema the JSON schema of the whole text
 * @param before the text up to the cursor
 */
export function suggestions(schema: object, before: string): Suggestion[] {
  const lines = before.split("\n");
  const place = placeOf(lines.pop()!);
  const parents = pathOf(lines, place.indent);
  const group = parents.reduce<Schema | undefined>(step, schema as Schema);
  if (place.key === undefined) {
    const known = keysBeside(lines, place.indent);
    return Object.entries(group === undefined ? {} : propertiesOf(group))
      .filter(([name]) => !known.has(name))
      .map(([name, own]) => ({
        label: name,
        apply: isGroup(own) ? `${name}:\n${" ".repeat(place.indent + 2)}` : `${name}: `,
      }));
  }
  return valuesOf(step(group, place.key)).map((value) => ({ label: String(value) }));
}

/** The keys above a line, from the outermost. */
function pathOf(lines: readonly string[], indent: number): string[] {
  const path: string[] = [];
  let least = indent;
  for (const line of lines.toReversed()) {
    if (line.trim() === "" || line.trim().startsWith("#")) continue;
    const place = placeOf(line);
    if (place.indent >= least || place.key === undefined) continue;
    path.unshift(place.key);
    least = place.inList ? place.indent - 1 : place.indent;
    if (least <= 0) break;
  }
  return path;
}

/** The keys of the same group, above a line. */
function keysBeside(lines: readonly string[], indent: number): Set<string> {
  const keys = new Set<string>();
  for (const line of lines.toReversed()) {
    if (line.trim() === "") continue;
    const place = placeOf(line);
    if (place.indent < indent) break;
    if (place.indent === indent && place.key !== undefined) keys.add(place.key);
    if (place.indent === indent && place.inList) break;
  }
  return keys;
}

/**
 * The fields of a policy that its schema does not know: a slip of the pen, or for a newer harness.
 * @param value the whole policy, as JSON
 * @returns their paths, such as `settings.compaction.reinjekt`
 */
export function unknownFields(schema: object, value: unknown, path = ""): string[] {
  if (Array.isArray(value))
    return value.flatMap((one, place) =>
      unknownFields(schema, one, path === "" ? `${place}` : `${path}.${place}`),
    );
  const known = propertiesOf(schema as Schema);
  // A value that is no group, or a group of free names.
  if (typeof value !== "object" || value === null || Object.keys(known).length === 0) return [];
  return Object.entries(value).flatMap(([name, own]) => {
    const at = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(known, name)) return [at];
    return unknownFields(step(schema as Schema, name)!, own, at);
  });
}

function step(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema === undefined) return undefined;
  const own = propertiesOf(schema)[key];
  return own?.items ?? own;
}

function propertiesOf(schema: Schema): Record<string, Schema> {
  return schema.properties ?? schema.anyOf?.find(({ properties }) => properties)?.properties ?? {};
}

const isGroup = (schema: Schema): boolean =>
  schema.items !== undefined || Object.keys(propertiesOf(schema)).length > 0;

function valuesOf(schema: Schema | undefined): unknown[] {
  if (schema === undefined) return [];
  if (schema.enum !== undefined) return schema.enum;
  if (schema.type === "boolean") return [true, false];
  return schema.anyOf?.flatMap((one) => (one.type === "null" ? [null] : valuesOf(one))) ?? [];
}
