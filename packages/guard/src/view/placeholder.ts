import type { ResultPart } from "./history.ts";

/**
 * Shortens a text to `max` characters, ending in an ellipsis. Never splits a surrogate pair.
 * @example
 * clip("a long text", 7); // "a long…"
 */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = max - 1;
  const code = text.charCodeAt(end - 1);
  if (code >= 0xd800 && code <= 0xdbff) end--;
  return `${text.slice(0, end)}…`;
}

/** Keeps the start and end of a text, where people and commands put what matters, with a note between them. */
export function headAndTail(text: string, maxChars: number, note: (leftOut: number) => string): string {
  const room = Math.max(0, maxChars - note(text.length).length);
  const head = withoutHalfCharacters(text.slice(0, Math.ceil(room * 0.6)));
  const tail = withoutHalfCharacters(text.slice(text.length - (room - Math.ceil(room * 0.6))));
  return head + note(text.length - head.length - tail.length) + tail;
}

/** Removes half surrogate pairs that a cut may leave at either end. */
function withoutHalfCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, "").replace(/[\uD800-\uDBFF]$/, "");
}

/** Least length of a shortened question, in characters, so that it stays understandable. */
const MIN_QUESTION_CHARS = 400;

/**
 * Cuts the middle out of a user's message, down to a fraction of its length. `key` is where the full text is stored.
 */
export function shortenToShare(text: string, share: number, key: string | undefined): string {
  const where = key === undefined ? "ask for what you need of it" : `the whole of it is kept under ${key}`;
  const note = (leftOut: number) =>
    `\n[${leftOut} characters left out here: this message was too long to be carried over a restart; ${where}]\n`;
  return headAndTail(text, Math.max(MIN_QUESTION_CHARS, Math.floor(text.length * share)), note);
}

/** Least length of a shortened result, in characters. */
const MIN_RESULT_CHARS = 300;

/** Start and end of a tool's result, down to a fraction of its length. `key` is where the full text is stored. */
export function shortenedResult(text: string, share: number, key: string | undefined): string {
  const where = key === undefined ? "read a part of it for more" : `recall key ${key}`;
  const note = (leftOut: number) =>
    `\n[${leftOut} characters left out here: the whole does not fit into the context; ${where}]\n`;
  return headAndTail(text, Math.max(MIN_RESULT_CHARS, Math.floor(text.length * share)), note);
}

/** Longer texts in the input of a tool are left out of it. Characters. */
const MOST_INPUT_CHARS = 120;

/** The input of a tool as JSON, without its long texts. `key` is where the whole of it is stored. */
export function shortenedInput(input: unknown, key: string | undefined): string {
  const where = key === undefined ? "" : `; recall key ${key}`;
  return JSON.stringify(input, (_, value: unknown) =>
    typeof value === "string" && value.length > MOST_INPUT_CHARS
      ? `[${countLines(value)} lines, ${value.length} characters, left out of this history${where}]`
      : value,
  );
}

const LANGUAGES: Readonly<Record<string, string>> = {
  c: "C",
  cpp: "C++",
  cs: "C#",
  css: "CSS",
  go: "Go",
  h: "C header",
  hs: "Haskell",
  html: "HTML",
  java: "Java",
  js: "JavaScript",
  jsx: "JavaScript",
  json: "JSON",
  kt: "Kotlin",
  log: "log",
  lua: "Lua",
  md: "Markdown",
  php: "PHP",
  py: "Python",
  rb: "Ruby",
  rs: "Rust",
  sh: "shell",
  sql: "SQL",
  swift: "Swift",
  toml: "TOML",
  ts: "TypeScript",
  tsx: "TypeScript",
  txt: "text",
  yaml: "YAML",
  yml: "YAML",
};

/** Matches definitions in common languages. The names of the first definitions summarise source code best. */
const DEFINITION =
  /(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:async\s+)?(?:abstract\s+)?(fn|def|func|function|class|struct|enum|interface|trait|type|impl|module|const)\s+([A-Za-z_$][\w$]*)/y;
/** What a definition begins with: most lines of a log need no closer look. */
const BEGINS = new Set([..."epadfcsitm"].map((letter) => letter.charCodeAt(0)));

/** A tool call with its result, as {@link placeholderFor} needs it. */
export interface ToolOutput {
  tool: string;
  input: unknown;
  text: string;
  error?: boolean;
}

/**
 * Returns a one-line placeholder for a tool result: the tool, its subject, and the size and kind of the output.
 * @param key under which the agent can recall the whole text
 * @example
 * // [file_read: src/main.rs -- 142 lines, Rust source with main() entry point]
 * placeholderFor({ tool: "file_read", input: { path: "src/main.rs" }, text });
 */
export function placeholderFor(result: ToolOutput | ResultPart, key?: string): string {
  const where = key === undefined ? "" : `; recall key ${key}`;
  return `[${titleOf(result)} -- ${summaryOf(result.text, subjectOf(result.input))}${where}]`;
}

/** The tool that gave a result, and the subject of its call. */
export function titleOf({ tool, input }: Pick<ToolOutput, "tool" | "input">): string {
  const subject = subjectOf(input);
  return `${tool}:${subject === undefined ? "" : ` ${clip(oneLine(subject), 80)}`}`;
}

/**
 * Describes the size and kind of a text in a few words. Reads at most the first 16,000 characters.
 * @example
 * summaryOf("error: not found\n"); // "16 characters, starts with: error: not found"
 */
export function summaryOf(text: string, subject?: string): string {
  if (text.trim() === "") return "no output";
  const lines = countLines(text);
  const size = lines > 1 ? `${lines} lines` : `${text.length} characters`;
  const head = text.slice(0, 16_000);
  return `${size}, ${describeContent(head, subject)}`;
}

function describeContent(head: string, subject: string | undefined): string {
  const extension = subject === undefined ? undefined : /\.([a-z0-9]{1,5})(?:[\s:'"]|$)/i.exec(subject)?.[1];
  const language = extension === undefined ? undefined : LANGUAGES[extension.toLowerCase()];
  const names = definitions(head);
  if (names.length > 0) {
    const what = language === undefined ? "source" : `${language} source`;
    const main = names.find((name) => name.name === "main");
    if (main !== undefined) return `${what} with main() entry point`;
    return `${what} defining ${names.map((name) => name.name).join(", ")}`;
  }
  const exit = /"?exit[_ ]?code"?\s*[=:]\s*(-?\d+)/i.exec(head) ?? /"status"\s*:\s*(-?\d+)/.exec(head);
  if (exit !== null) return `exit code ${exit[1]}, ${firstLine(head)}`;
  const trimmed = head.trimStart();
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) return `JSON ${describeJson(trimmed)}`;
  const start = firstLine(head);
  return language === undefined ? start : `${language}, ${start}`;
}

function definitions(head: string): { name: string }[] {
  const found: { name: string }[] = [];
  for (let line = 0; line < head.length && found.length < 12; ) {
    let at = line;
    while (head[at] === " " || head[at] === "\t") at++;
    const next = head.indexOf("\n", at);
    line = next < 0 ? head.length : next + 1;
    if (!BEGINS.has(head.charCodeAt(at))) continue;
    DEFINITION.lastIndex = at;
    const match = DEFINITION.exec(head);
    if (match === null || (match[1] === "const" && /^[a-z]$/.test(match[2]!))) continue;
    if (!found.some((known) => known.name === match[2])) found.push({ name: match[2]! });
  }
  const main = found.find((known) => known.name === "main");
  return main === undefined ? found.slice(0, 3) : [main];
}

function describeJson(head: string): string {
  const keys = [...head.slice(0, 2_000).matchAll(/"([^"\\]{1,40})"\s*:/g)].map((match) => match[1]!);
  const distinct = [...new Set(keys)].slice(0, 4);
  const kind = head.startsWith("[") ? "list" : "object";
  return distinct.length === 0 ? kind : `${kind} with ${distinct.join(", ")}`;
}

function firstLine(text: string): string {
  const line = text
    .split("\n", 40)
    .map((part) => part.trim())
    .find((part) => part !== "");
  return `starts with: ${clip(oneLine(line ?? ""), 60)}`;
}

function countLines(text: string): number {
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("]", ")");
}

/** Finds the argument that names the subject of a call: a path, a command or a query. */
export function subjectOf(input: unknown): string | undefined {
  if (typeof input === "string") return input === "" ? undefined : input;
  if (typeof input !== "object" || input === null) return undefined;
  const fields = input as Record<string, unknown>;
  for (const key of ["path", "file_path", "filename", "file", "command", "cmd", "url", "query", "pattern"]) {
    const value = fields[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return Object.values(fields).find(
    (value): value is string => typeof value === "string" && value.length < 120,
  );
}
