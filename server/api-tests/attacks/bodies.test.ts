import { readFileSync } from "node:fs";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { type StallWatch, watchHealth } from "../health-watch.ts";
import { makeKey, turn, unique } from "../support.ts";

const MIB = 1024 * 1024;
/** Bodies sent at once. */
const CROWD = 80;

let server: TestServer;
let health: StallWatch;
let key: string;

beforeAll(async () => {
  // Without quotas, so that each body is read.
  server = await startTestServer({
    env: { PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "0", PLIMSOLL_QUOTA_READS_PER_SECOND: "0" },
  });
  key = (await makeKey(server, "admin")).secret;
  health = await watchHealth(server);
});

afterAll(async () => {
  await health.stop();
  await server.expectHealthy();
  await server.stop();
});

interface Sent {
  path?: string;
  method?: string;
  body: Buffer | string;
  headers?: Record<string, string>;
}

/** Resolves with the status. An error without the one shape, and a 429 or 503 that says no time, count as 500. */
async function post({ path = "/api/v1/events", method = "POST", body, headers = {} }: Sent): Promise<number> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: Buffer.from(body),
  });
  const text = await response.text();
  const { status } = response;
  const isBinary = headers["content-type"]?.includes("protobuf") === true;
  if (status >= 400 && !isBinary && !/"message":"[^"]{10,}/.test(text)) return 500;
  return (status === 429 || status === 503) && !response.headers.has("retry-after") ? 500 : status;
}

/** Sends a body many times at once. Returns the statuses, the most work before an answer, and the growth in bytes. */
async function flood(sent: Sent, times: number) {
  const before = memory();
  await health.take();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, memory());
  }, 20);
  const statuses = await Promise.all(Array.from({ length: times }, () => post(sent)));
  clearInterval(watch);
  return { statuses, workMs: await health.take(), growth: peak - before };
}

function expectBounded({ statuses, workMs, growth }: Awaited<ReturnType<typeof flood>>, allowed: number[]) {
  for (const status of statuses) expect([...allowed, 503]).toContain(status);
  // The attacks made one request wait for 1.4 to 32 s of work.
  expect(workMs).toBeLessThan(1_000);
  expect(growth).toBeLessThan(600 * MIB);
}

const gzip = { "content-encoding": "gzip" };
const lines = { "content-type": "application/x-ndjson" };
const event = () => turn(unique("session"), 1_000);

/** Memory of the server in bytes. */
const memory = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1024;

describe("bodies that are small on the wire and much work", () => {
  const junk = (count: number) =>
    JSON.stringify({ ...event(), a: 0 }).replace('"a":0', `"a":[${"[],".repeat(count)}[]]`);
  const list = (count: number, junkEach: number) =>
    `[${Array.from({ length: count }, () => junk(junkEach)).join()}]`;

  it.each<[string, Buffer, Record<string, string>, number[]]>([
    ["16 million blank lines in gzip", gzipSync("\n".repeat(16_000_000)), { ...gzip, ...lines }, [413]],
    [
      "as many blank lines in Brotli",
      brotliCompressSync("\n".repeat(16_000_000)),
      { "content-encoding": "br", ...lines },
      [413],
    ],
    ["20,000 blank lines", Buffer.from("\n".repeat(20_000)), lines, [413]],
    ["an event with ten million empty lists", gzipSync(junk(10_000_000)), gzip, [413]],
    ["an event with a million empty lists", Buffer.from(junk(1_000_000)), {}, [413]],
    ["the same in a list", Buffer.from(`[${junk(1_000_000)}]`), {}, [200]],
    ["the same in lines", Buffer.from(`${junk(1_000_000)}\n`), lines, [200]],
    ["100 events with 40,000 empty lists each", Buffer.from(list(33, 40_000)), {}, [200]],
    ["ten million levels of lists", gzipSync("[".repeat(10_000_000)), gzip, [400, 413]],
    ["a million levels of objects", Buffer.from('{"a":'.repeat(800_000)), {}, [400, 413]],
    [
      "an event with 80,000 levels",
      Buffer.from(JSON.stringify(event()).replace("}", `,"a":${"[".repeat(80_000)}${"]".repeat(80_000)}}`)),
      {},
      [200, 400],
    ],
    [
      "100,000 keys",
      Buffer.from(`[{${Array.from({ length: 100_000 }, (_, n) => `"k${n}":1`).join()}}]`),
      {},
      [413],
    ],
    ["the same key 200,000 times", Buffer.from(`[{${Array(200_000).fill('"id":1').join()}}]`), {}, [413]],
    ["4 MB of quotes", Buffer.from('"'.repeat(4 * MIB)), {}, [400, 413]],
    ["4 MB of escapes", Buffer.from(`["${"\\\\".repeat(2_000_000)}"]`), {}, [200]],
  ])("%s, 80 times at once, stall nobody and fill no memory", async (_name, body, headers, statuses) => {
    expectBounded(await flood({ body, headers }, CROWD), statuses);
  });
});

describe("every route that takes a body", () => {
  const OTLP = ["/otlp/v1/traces", "/otlp/v1/logs", "/otlp/v1/metrics"];
  const CALLS = [
    "/api/trpc/alerts.rules.create",
    "/api/trpc/alerts.rules.create?batch=1",
    "/api/v1/alerts/rules",
    "/api/v1/alerts/import",
    "/api/v1/sessions.csv",
    "/api/v1/mcp",
  ];
  const text = (value: string) => Buffer.from(value);
  const inSpans = (spans: string) => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`;
  const protobuf = { "content-type": "application/x-protobuf" };
  const filled = (bytes: number, pattern: number[]) => Buffer.alloc(bytes, Buffer.from(pattern));
  /** A field of protobuf with four bytes for its length. */
  const field = (number: number, content: Buffer): Buffer => {
    const { length } = content;
    const size = [length, length >> 7, length >> 14, length >> 21].map(
      (part, at) => (part & 0x7f) | (at < 3 ? 0x80 : 0),
    );
    return Buffer.concat([Buffer.from([number * 8 + 2, ...size]), content]);
  };
  const bombs: [string, Buffer, Record<string, string>][] = [
    ["gzip", gzipSync(Buffer.alloc(3_900_000, 0x5b)), gzip],
    ["deflate", deflateSync(Buffer.alloc(3_900_000, 0x5b)), { "content-encoding": "deflate" }],
    ["Brotli", brotliCompressSync(Buffer.alloc(3_900_000, 0x20)), { "content-encoding": "br" }],
  ];

  const hostile: [string, Sent, number[]][] = [
    ...["/api/v1/events", ...OTLP].flatMap((path) =>
      bombs.map(([name, body, headers]): [string, Sent, number[]] => [
        `${path}: ${body.length} bytes of ${name}`,
        { path, body, headers },
        [413],
      ]),
    ),
    ...OTLP.flatMap((path): [string, Sent, number[]][] => [
      [`${path}: four million lists`, { path, body: text("[".repeat(4_000_000)) }, [400]],
      [`${path}: objects`, { path, body: text('{"a":'.repeat(1_000_000)) }, [400]],
      [`${path}: groups in protobuf`, { path, body: filled(2_000_000, [0x1b]), headers: protobuf }, [400]],
      [`${path}: unknown fields`, { path, body: filled(10_000_000, [0x18, 0]), headers: protobuf }, [413]],
      [`${path}: empty resources`, { path, body: filled(10_000_000, [0x0a, 0]), headers: protobuf }, [413]],
    ]),
    [
      "a million empty scopes",
      { path: OTLP[0]!, body: `{"resourceSpans":[{"scopeSpans":[${"{},".repeat(1_000_000)}{}]}]}` },
      [413],
    ],
    [
      "a million empty attributes",
      { path: OTLP[0]!, body: inSpans(`{"attributes":[${"{},".repeat(1_000_000)}{}]}`) },
      [200],
    ],
    [
      "a million empty span events",
      { path: OTLP[0]!, body: inSpans(`{"events":[${"{},".repeat(1_000_000)}{}]}`) },
      [200],
    ],
    ["a million empty spans", { path: OTLP[0]!, body: inSpans(`${"{},".repeat(1_000_000)}{}`) }, [413]],
    [
      "empty scopes in protobuf",
      { path: OTLP[0]!, body: field(1, filled(6_000_000, [0x12, 0])), headers: protobuf },
      [413],
    ],
    [
      "empty attributes in protobuf",
      {
        path: OTLP[0]!,
        body: field(1, field(2, field(2, filled(4_000_000, [0x4a, 0])))),
        headers: protobuf,
      },
      [200],
    ],
    [
      "empty span events in protobuf",
      {
        path: OTLP[0]!,
        body: field(1, field(2, field(2, filled(4_000_000, [0x5a, 0])))),
        headers: protobuf,
      },
      [200],
    ],
    ...CALLS.flatMap((path): [string, Sent, number[]][] => [
      [`${path}: lists`, { path, body: "[".repeat(1_000_000) }, [400]],
      [`${path}: objects`, { path, body: '{"a":'.repeat(200_000) }, [400]],
      [`${path}: empty elements`, { path, body: `[${"{},".repeat(300_000)}{}]` }, [413]],
      [`${path}: fields`, { path, body: `{${'"a":1,'.repeat(160_000)}"b":1}` }, [413]],
      [
        `${path}: names of prototypes`,
        { path, body: '{"__proto__":{"a":1},"constructor":1,"toString":{}}' },
        [200, 400],
      ],
      [`${path}: many faults`, { path, body: `{"ids":[${"1,".repeat(45_000)}1]}` }, [400]],
      [`${path}: more than a megabyte`, { path, body: " ".repeat(1_100_000) }, [413]],
    ]),
    ...["[", "- ", "? ", "{a: ", "- [", "a:\n  - "].map((piece): [string, Sent, number[]] => [
      `YAML of ${JSON.stringify(piece)}`,
      { path: "/api/v1/alerts/import", body: JSON.stringify({ yaml: piece.repeat(200_000 / piece.length) }) },
      [400],
    ]),
    [
      "aliases of aliases in YAML",
      {
        path: "/api/v1/alerts/import",
        body: JSON.stringify({ yaml: `a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nrules: [*c,*c]\n` }),
      },
      [400],
    ],
    [
      "a policy of lists",
      { path: "/api/v1/policy", method: "PUT", body: "[".repeat(1_000_000), headers: { "if-match": '"0"' } },
      [400],
    ],
    [
      "a policy of empty elements",
      {
        path: "/api/v1/policy",
        method: "PUT",
        body: `{"policy":[${"{},".repeat(300_000)}{}]}`,
        headers: { "if-match": '"0"' },
      },
      [413],
    ],
    ["a backup of lists", { path: "/api/v1/restore", body: "[".repeat(2_000_000) }, [403]],
  ];

  it.each(hostile)(
    "%s, several times at once, stalls nobody and fills no memory",
    async (_name, sent, statuses) => {
      expectBounded(await flood(sent, sent.body.length < 100_000 ? 12 : 4), statuses);
    },
  );

  it("keeps the server's memory after all of them", () => {
    expect(memory()).toBeLessThan(1_200 * MIB);
  });
});

describe("a key that sends bodies without events", () => {
  it("pays for them, and is refused before its next body is read", async () => {
    const small = await startTestServer({ env: { PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "100" } });
    try {
      const { secret } = await makeKey(small, "ingest");
      const send = (path: string, body: Buffer | string, type = "application/json") =>
        fetch(small.url + path, {
          method: "POST",
          headers: { authorization: `Bearer ${secret}`, "content-type": type },
          body: Buffer.from(body),
        });
      // 400 values cost as much as an event: this body costs 2,500, and the key has 1,000.
      const junk = filledSpans(1_000);
      expect((await send("/otlp/v1/traces", junk)).status).toBe(200);
      const refused = await send("/otlp/v1/traces", junk);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await send("/api/v1/events", JSON.stringify(event()))).status).toBe(429);
    } finally {
      await small.stop();
    }
  });
});

/** Spans with 1,000 values each, of which none is a model call. */
function filledSpans(count: number): string {
  const span = `{"name":"x","other":[${"1,".repeat(997)}1]}`;
  return `{"resourceSpans":[{"scopeSpans":[{"spans":[${Array(count).fill(span).join()}]}]}]}`;
}
