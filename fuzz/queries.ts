import { archiveBytes } from "./archives.ts";
import { ENDPOINTS, type Endpoint } from "./endpoints.ts";
import { hintsAt } from "./events.ts";
import { HOSTILE_NAMES, HOSTILE_TIMES, HOSTILE_VALUES } from "./hostile.ts";
import { type HttpInput, headerText, pathText } from "./http-input.ts";
import { jsonText, Raw } from "./json-text.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import { Random } from "./random.ts";
import { drawValue, type Hints } from "./schema-values.ts";
import { yamlText } from "./yaml-text.ts";

type Parameter = [name: string, value: string];

const CHOICES = ENDPOINTS.map((endpoint) => [endpoint.weight, endpoint] as const);
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PROPFIND"];

const HEADERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  [
    "Content-Type",
    ["", "text/plain", "application/json; charset=x", "multipart/form-data", "toString", "__proto__"],
  ],
  ["Content-Encoding", ["toString", "__proto__", "constructor", "gzip", "br", "x", ""]],
  ["Prefer", ["wait", "wait=1e999", "wait, wait, wait", "="]],
  [
    "Authorization",
    [
      "",
      "Bearer",
      "Bearer ",
      "Bearer plim_",
      `Bearer plim_abcdefg_${"0".repeat(49)}`,
      `Bearer plim_local_${"0".repeat(49)}`,
      "bearer x",
      "Basic YTpi",
      "Digest username=x",
      "Negotiate",
      "Bearer a, Bearer b",
      `Bearer ${"x".repeat(4_000)}`,
      "toString",
    ],
  ],
  [
    "Plimsoll-Project",
    ["1", "2", "0", "-1", "1e3", "99999999999999999999", "%", "%00", "%ff", "__proto__", "a".repeat(300)],
  ],
  [
    "Cookie",
    ["plimsoll_session=x", `plimsoll_session=${"a".repeat(43)}`, "a=b; ; =; ==", "__proto__=x", "="],
  ],
  ["Origin", ["null", "http://evil.example", "file://", ""]],
  ["Sec-Fetch-Site", ["same-origin", "same-site", "cross-site", "x"]],
  ["Accept", ["text/html", "*/*", "application/json;q=x", "text/event-stream"]],
  ["Accept-Encoding", ["gzip", "br;q=0", "*", "identity;q=0"]],
  ["X-Forwarded-For", ["127.0.0.1", "unknown", "::1, 10.0.0.1", "x".repeat(500)]],
  ["X-Forwarded-Proto", ["https", "javascript", ""]],
  ["Forwarded", ["for=127.0.0.1;proto=https", ";;;"]],
  ["Via", ["1.1 proxy", ""]],
  ["X-Real-IP", ["127.0.0.1", "x"]],
  ["Range", ["bytes=0-", "bytes=-1", "x"]],
  ["If-None-Match", ["*", '"x"']],
  ["trpc-accept", ["application/jsonl", "x"]],
  ["x-trpc-source", ["__proto__"]],
  ["Host", ["evil.example", "127.0.0.1", "[::1", "a b", "127.0.0.1:99999", ""]],
  ["X-HTTP-Method-Override", ["DELETE"]],
];

/**
 * Makes requests to every route and procedure one by one, with parameters, bodies and headers that are mutated.
 * @param ids of stored sessions, so that some requests find something
 */
export function queryInputs(
  seed: number,
  now: number,
  ids: readonly string[],
  kept: readonly HttpInput[],
): (index: number) => HttpInput {
  const hints = hintsAt(now, ids);
  return (index) => {
    const random = new Random(seed, index);
    const input =
      kept.length > 0 && random.oneIn(30) ? mutatedKept(random, random.pick(kept)) : requestTo(random, hints);
    return withoutStream(input);
  };
}

/** A live stream never ends, so nothing behind it on its connection would be answered: only its refusals are tried. */
function withoutStream(input: HttpInput): HttpInput {
  return /live/i.test(decodedPath(input.path)) ? { ...input, as: "nobody" } : input;
}

/** The path as a router may read it. */
function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path.split("?", 1)[0]!);
  } catch {
    return path;
  }
}

function mutatedKept(random: Random, kept: HttpInput): HttpInput {
  const path = pathText(mutateBytes(random, Buffer.from(kept.path)).toString("latin1"));
  return { ...kept, path: path.startsWith("/") ? path : `/${path}` };
}

function requestTo(random: Random, hints: Hints): HttpInput {
  const endpoint = random.weighted(CHOICES);
  const input = inputFor(random, endpoint, hints);
  const headers: [string, string][] = [];
  for (
    let left = random.weighted([
      [6, 0],
      [3, 1],
      [1, 3],
    ] as const);
    left > 0;
    left--
  ) {
    const [name, values] = random.pick(HEADERS);
    if (!headers.some(([other]) => other === name)) headers.push([name, headerText(random.pick(values))]);
  }
  const method = random.oneIn(60) ? random.pick(METHODS) : endpoint.method;
  const { path, body } = rendered(random, endpoint, input);
  for (const [name, value] of endpoint.headers ?? [])
    if (!headers.some(([other]) => other === name))
      headers.push([name, random.oneIn(20) ? headerText(textOf(random.pick(HOSTILE_VALUES))) : value]);
  if (body.length > 0 && !headers.some(([name]) => name === "Content-Type")) {
    headers.push(["Content-Type", "application/json"]);
  }
  const as = random.weighted([
    [70, "local"],
    [20, "read"],
    [3, "ingest"],
    [7, "nobody"],
  ] as const);
  return { as, method, path, headers, body };
}

function inputFor(random: Random, { input }: Endpoint, hints: Hints): unknown {
  const valid = drawValue(random, input, hints);
  // Both ends of a range matter together, so they are often hostile while the rest is valid.
  if (random.oneIn(8) && typeof valid === "object" && valid !== null && "from" in valid) {
    return { ...valid, [random.pick(["from", "to"])]: random.pick(HOSTILE_TIMES) };
  }
  // A policy or rules may be sent as YAML.
  const written = WRITTEN.find((name) => input.properties?.[name] !== undefined);
  if (written !== undefined && random.oneIn(2)) {
    const document = random.pick([valid, mutateJson(random, valid)]);
    const value = Object(document)[written] ?? document;
    return { ...Object(valid), [written]: yamlText(random, value) };
  }
  return random.below(100) < 60 ? mutateJson(random, valid) : valid;
}

/** Members that take a document, or its YAML as a text. */
const WRITTEN = ["policy", "yaml"];

function rendered(random: Random, endpoint: Endpoint, input: unknown): { path: string; body: Buffer } {
  const { sends } = endpoint;
  let { path } = endpoint;
  const members = membersOf(input);
  path = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(random, memberOf(members, name)));
  if (sends === "archive") return { path, body: archiveBytes(random) };
  if (sends === "json_body") {
    const bytes = Buffer.from(jsonText(input));
    return {
      path: withQuery(path, random.oneIn(20) ? [hostileParameter(random)] : []),
      body: random.oneIn(10) ? mutateBytes(random, bytes) : bytes,
    };
  }
  const parameters: Parameter[] =
    sends === "trpc_input"
      ? [["input", encoded(random, jsonText(input))]]
      : members
          .filter(([name]) => !endpoint.path.includes(`{${name}}`))
          .map(([name, value]) => [encoded(random, name), encoded(random, value)]);
  if (sends === "trpc_input" && random.oneIn(15)) {
    const name = path.slice("/api/trpc/".length);
    const calls = random.between(1, 30);
    path = `/api/trpc/${Array<string>(calls).fill(name).join(",")}`;
    parameters.splice(0, 1, ["batch", "1"], ["input", encoded(random, `{"0":${jsonText(input)}}`)]);
  }
  if (random.oneIn(5)) parameters.splice(random.below(parameters.length + 1), 0, hostileParameter(random));
  if (random.oneIn(15) && parameters.length > 0) parameters.push(random.pick(parameters));
  let whole = withQuery(path, parameters);
  if (random.oneIn(12)) whole = mutateBytes(random, Buffer.from(whole)).toString("latin1");
  if (!whole.startsWith("/")) whole = `/${whole}`;
  // Node refuses a longer head, and rightly.
  return { path: pathText(whole).slice(0, 12_000), body: Buffer.alloc(0) };
}

function hostileParameter(random: Random): Parameter {
  const name = random.oneIn(3)
    ? random.pick(["project", "limit", "cursor", "from", "q", "batch"])
    : random.pick(HOSTILE_NAMES);
  const suffix = random.oneIn(5) ? random.pick(["[]", "[0]", "[__proto__]", ".x"]) : "";
  return [encoded(random, name + suffix), encoded(random, textOf(random.pick(HOSTILE_VALUES)))];
}

function membersOf(input: unknown): Parameter[] {
  if (input instanceof Raw || typeof input !== "object" || input === null) return [];
  const entries = "entries" in input && Array.isArray(input.entries) ? input.entries : Object.entries(input);
  return (entries as [string, unknown][]).map(([name, value]) => [name, textOf(value)]);
}

const memberOf = (members: readonly Parameter[], name: string) =>
  members.find(([other]) => other === name)?.[1] ?? "x";

const textOf = (value: unknown) => (typeof value === "string" ? value : jsonText(value));

function encoded(random: Random, text: string): string {
  const kind = random.below(40);
  if (kind === 0) return text;
  if (kind === 1) return `${encodeURIComponent(text.toWellFormed())}%`;
  if (kind === 2) return `%ff%fe${encodeURIComponent(text.toWellFormed())}`;
  if (kind === 3) return encodeURIComponent(encodeURIComponent(text.toWellFormed()));
  return encodeURIComponent(text.toWellFormed());
}

const withQuery = (path: string, parameters: readonly Parameter[]) =>
  parameters.length === 0
    ? path
    : `${path}?${parameters.map(([name, value]) => `${name}=${value}`).join("&")}`;
