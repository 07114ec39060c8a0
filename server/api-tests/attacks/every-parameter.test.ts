import { afterAll, beforeAll, expect, it } from "vitest";
import { ENDPOINTS, type Endpoint } from "../../../fuzz/endpoints.ts";
import { eventMaker, hintsAt } from "../../../fuzz/events.ts";
import { type Credentials, type HttpInput, pathText, requestBytes } from "../../../fuzz/http-input.ts";
import { jsonText, Raw } from "../../../fuzz/json-text.ts";
import { judge } from "../../../fuzz/judge.ts";
import { Pipeline } from "../../../fuzz/pipeline.ts";
import { Random } from "../../../fuzz/random.ts";
import { drawValue, type Hints, type JsonSchema } from "../../../fuzz/schema-values.ts";
import { sessionIds } from "../../../fuzz/server-under-test.ts";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { caughtUp } from "../support.ts";

/** Valid requests of each endpoint that are drawn: each shows another choice of its unions. */
const DRAWS = 2;
const JSON_NUMBERS = [
  "2147483648",
  "4294967296",
  "9007199254740992",
  "9223372036854775808",
  "-1",
  "0.5",
  "1e308",
].concat(["1e999", "-1e999", "-2147483649", "99999999999999999999"]);
const NUMBERS = [...JSON_NUMBERS, "NaN", "Infinity", "0x10", "00", "\u0661", "1\u0000", " 1 ", ""];
const TEXTS = [
  "\u0000",
  "a\u0000b",
  "\ud800",
  "__proto__",
  "constructor",
  "\u202e",
  "%",
  "",
  "x".repeat(5_000),
  "'",
  "$1",
];
/** Starting long work, or ending what other requests need, shows nothing about a parameter. */
const LEFT_OUT = new Set(["/api/v1/live", "/api/v1/backup", "/api/trpc/doctor", "/metrics"]);

let server: TestServer;
let hints: Hints;
let credentials: Credentials;

beforeAll(async () => {
  server = await startTestServer();
  const now = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const event = eventMaker(1, hintsAt(now));
  await server.send(Array.from({ length: 500 }, (_, index) => event(new Random(1, index)) as object));
  await caughtUp(server);
  hints = hintsAt(now, await sessionIds(server, now));
  credentials = { local: server.token, ingest: server.token, read: server.token };
});
afterAll(async () => {
  expect(server.output()).not.toContain("unexpectedly");
  await server.stop();
});

const asText = (value: unknown) => (typeof value === "string" ? value : jsonText(value));
// A lone surrogate cannot be percent-encoded; its three bytes can.
const encoded = (text: string) =>
  text.isWellFormed() ? encodeURIComponent(text) : pathText(text.replaceAll("\ud800", "\u00ed\u00a0\u0080"));

function requestOf({ method, path, sends, headers = [] }: Endpoint, input: unknown): HttpInput {
  const members = Object.entries((input ?? {}) as object).filter(([, value]) => value !== undefined);
  const at = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encoded(asText(members.find(([other]) => other === name)?.[1] ?? "x")),
  );
  const query = members
    .filter(([name]) => !path.includes(`{${name}}`))
    .map(([name, value]) => `${encoded(name)}=${encoded(asText(value))}`);
  if (sends === "json_body") {
    return {
      ...{ as: "local", method, path: at, body: Buffer.from(jsonText(input)) },
      headers: [...headers, ["Content-Type", "application/json"]],
    };
  }
  const sent = sends === "trpc_input" ? `input=${encoded(jsonText(input))}` : query.join("&");
  return { as: "local", method, path: `${at}?${sent}`, headers, body: Buffer.alloc(0) };
}

interface Leaf {
  /** Names on the way to it; the items of a list have one name. */
  path: string;
  value: string | number;
  set(value: unknown): void;
}

function leavesOf(value: unknown, path: string, set: (value: unknown) => void): Leaf[] {
  if (typeof value === "string" || typeof value === "number") return [{ path, value, set }];
  if (typeof value !== "object" || value === null) return [];
  const entries = Object.entries(value as Record<string, unknown>);
  return entries.flatMap(([name, inner]) =>
    leavesOf(inner, `${path}.${Array.isArray(value) ? "" : name}`, (next) => {
      (value as Record<string, unknown>)[name] = next;
    }),
  );
}

/** Requests of which one parameter is hostile. */
function hostileRequests(endpoint: Endpoint): HttpInput[] {
  const seen = new Set<string>();
  const requests: HttpInput[] = [];
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const whole = drawValue(new Random(draw, endpoint.path.length), allRequired(endpoint.input), hints);
    for (const { path, value, set } of leavesOf(whole, "", () => {})) {
      if (seen.has(path)) continue;
      seen.add(path);
      const isText = endpoint.sends === "parameters" || endpoint.path.includes(`{${path.slice(1)}}`);
      const numbers = isText ? NUMBERS : JSON_NUMBERS.map((text) => new Raw(text));
      for (const hostile of typeof value === "number" ? numbers : TEXTS) {
        set(hostile);
        requests.push(requestOf(endpoint, whole));
      }
      set(value);
    }
  }
  return requests;
}

/** The schema with every member present. */
function allRequired(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, allRequired(one)]),
      ),
      required: Object.keys(properties),
    }),
    ...(items !== undefined && { items: allRequired(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(allRequired) }),
    ...(oneOf !== undefined && { oneOf: oneOf.map(allRequired) }),
  };
}

const chosen = ENDPOINTS.filter(
  ({ method, path, sends }, index) =>
    !LEFT_OUT.has(path) &&
    sends !== "nothing" &&
    sends !== "archive" &&
    ENDPOINTS.findIndex((other) => other.method === method && other.path === path) === index,
);

it("no number that a caller sends is larger than the database's integers", () => {
  const unbounded = (schema: JsonSchema, path: string): string[] => {
    const {
      type,
      maximum = Number.POSITIVE_INFINITY,
      items,
      properties = {},
      anyOf = [],
      oneOf = [],
    } = schema;
    const inner = [...anyOf, ...oneOf, ...(items === undefined ? [] : [items])].flatMap((one) =>
      unbounded(one, path),
    );
    const members = Object.entries(properties).flatMap(([name, one]) => unbounded(one, `${path}.${name}`));
    return [...(type === "integer" && maximum > 2_147_483_647 ? [path] : []), ...inner, ...members];
  };
  const found = chosen.flatMap(({ method, path, input }) => unbounded(input, `${method} ${path}`));
  // These are stored as JSON.
  expect(found.filter((path) => !/\.(?:policy|rule|effective)\./.test(path))).toEqual([]);
});

it.each(chosen.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
  "%s answers or refuses every value of every parameter",
  async (_, endpoint) => {
    const pipelines = [0, 1, 2, 3].map(() => new Pipeline(server.port));
    const faults: object[] = [];
    const host = new URL(server.url).host;
    try {
      await Promise.all(
        hostileRequests(endpoint).map(async (input, index) => {
          const answer = await pipelines[index % 4]!.send(
            input.method,
            requestBytes(input, host, credentials),
          );
          const { fault, detail } = judge(input, answer);
          if (fault !== undefined)
            faults.push({
              fault,
              detail,
              path: input.path.slice(0, 300),
              body: input.body.toString().slice(0, 300),
            });
        }),
      );
    } finally {
      for (const pipeline of pipelines) pipeline.close();
    }
    expect(faults.slice(0, 5)).toEqual([]);
  },
);
