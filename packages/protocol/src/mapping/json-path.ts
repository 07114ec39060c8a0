/**
 * The steps of a path: a text is the name of a field, a number the index of an item. The paths are the singular queries of RFC
 * 9535 (section 2.3.5.1), which yield one value at most: `$.usage.input`, `$.attributes['llm.tokens.in']`, `$.calls[-1]`.
 */
export type JsonPath = readonly (string | number)[];

export type ParsedPath = { ok: true; path: JsonPath } | { ok: false; message: string };

/** Most characters of a path. */
export const LONGEST_PATH = 300;

const NAME = String.raw`[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*`;
const SEGMENT = new RegExp(
  String.raw`\.(${NAME})|\[ *(?:(-?[1-9]\d{0,8}|0)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')) *\]`,
  "uy",
);
const PLAIN_NAME = new RegExp(`^${NAME}$`, "u");
const FORMS = "Write $.name, $['any name'] or $[0].";

/** Parses a path. The message of a mistake says at which character it is. */
export function parseJsonPath(text: string): ParsedPath {
  const quoted = JSON.stringify(text.slice(0, LONGEST_PATH));
  if (text.length > LONGEST_PATH) return mistake(`a path has at most ${LONGEST_PATH} characters`);
  if (!text.startsWith("$")) return mistake(`${quoted} does not start with $. ${FORMS}`);
  const path: (string | number)[] = [];
  for (let at = 1; at < text.length; at = SEGMENT.lastIndex) {
    SEGMENT.lastIndex = at;
    const [, name, index, literal] = SEGMENT.exec(text) ?? [];
    const step = name ?? (index === undefined ? nameIn(literal) : Number(index));
    if (step === undefined) return mistake(`${quoted} is no path from character ${at + 1} on. ${FORMS}`);
    path.push(step);
  }
  return { ok: true, path };
}

const mistake = (message: string): ParsedPath => ({ ok: false, message });

/** The name that a literal in quotes writes; undefined if its escapes are wrong. */
function nameIn(literal: string | undefined): string | undefined {
  if (literal === undefined) return undefined;
  const inner = literal.slice(1, -1);
  const json = literal.startsWith('"')
    ? inner
    : inner.replace(/\\.|"/gu, (found) => (found === "\\'" ? "'" : found === '"' ? '\\"' : found));
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return undefined;
  }
}

/** The text of a path, which `parseJsonPath` reads. */
export function pathText(path: JsonPath): string {
  return `$${path.map(segmentText).join("")}`;
}

function segmentText(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  if (PLAIN_NAME.test(step)) return `.${step}`;
  const escaped = JSON.stringify(step).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `['${escaped}']`;
}

/** Longest text in which a path goes on, in characters. */
const LONGEST_JSON = 65_536;

/**
 * The value at a path of a JSON value; undefined if there is none. Inherited properties are no fields. A path goes on in a text that
 * is itself a JSON object or list.
 */
export function valueAt(root: unknown, path: JsonPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value === "string") value = jsonIn(value);
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value)) value = typeof step === "number" ? value.at(step) : undefined;
    else value = typeof step === "string" && Object.hasOwn(value, step) ? fieldOf(value, step) : undefined;
  }
  return value;
}

function jsonIn(text: string): unknown {
  if (text.length > LONGEST_JSON || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const fieldOf = (value: object, name: string) => (value as Record<string, unknown>)[name];
