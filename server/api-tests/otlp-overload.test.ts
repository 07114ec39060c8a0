import type { SessionPage } from "@plimsoll/protocol/api";
import { afterEach, expect, it } from "vitest";
import { startTestServer, type TestServer, type TestServerOptions } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { createEmitter, jsonBody, modelCall, modelCallSpan } from "./otlp-client.ts";
import { processesOf } from "./processes.ts";
import { dayRange, makeKey, START, unique } from "./support.ts";

let server: TestServer | undefined;
const held: number[] = [];
const resume = (pid: number) => process.kill(pid, "SIGCONT");

afterEach(async () => {
  held.splice(0).forEach(resume);
  await server?.stop();
  server = undefined;
});

async function start(options: TestServerOptions): Promise<TestServer> {
  server = await startTestServer(options);
  return server;
}

function spans(session: string, from: number, to: number): string {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return jsonBody(
    "traces",
    numbers.map((n) => modelCallSpan(session, n)),
  );
}

const post = (of: TestServer, secret: string, body: string) =>
  of.request<{ code: number; message: string }>("/otlp/v1/traces", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body,
  });

async function turnsOf(of: TestServer, session: string): Promise<number> {
  const { items } = await of.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
  return items[0]?.turns ?? 0;
}

it("answers a sender above its quota with 429 and the time to wait, and stores nothing of the request", async () => {
  const of = await start({ env: { PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "1" } });
  const { secret } = await makeKey(of, "ingest");
  const session = unique("session");
  // The allowance of ten seconds may be spent at once; together, these are more on the slowest machine.
  const requests = Array.from({ length: 30 }, (_, n) => spans(session, 2 * n + 1, 2 * n + 2));
  const answers = await Promise.all(requests.map((body) => post(of, secret, body)));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, text, body, headers } of refused) {
    expect(status, text).toBe(429);
    // RESOURCE_EXHAUSTED
    expect(body).toMatchObject({ code: 8, message: expect.stringContaining("1 events a second") });
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
  const accepted = answers.length - refused.length;
  await until(async () => (await turnsOf(of, session)) === 2 * accepted);
  // The same request succeeds later, as the specification lets a sender expect.
  const again = requests[answers.indexOf(refused[0]!)]!;
  await until(async () => (await post(of, secret, again)).status === 200);
  await until(async () => (await turnsOf(of, session)) === 2 * (accepted + 1));
});

it("stores everything that an SDK sends again after Retry-After", async () => {
  const of = await start({ env: { PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "2" } });
  const { secret } = await makeKey(of, "ingest");
  const session = unique("session");
  const emitter = createEmitter({ url: of.url, key: secret, protocol: "http/protobuf", resource: {} });
  // Five more than the allowance.
  for (let n = 1; n <= 25; n++) emitter.span("chat", START + n * 1_000, modelCall(session, n));
  await emitter.end();
  await until(async () => (await turnsOf(of, session)) === 25);
});

it("answers with 503 while the database does not answer, never with 200", async () => {
  const of = await start({ embedded: true });
  const { secret } = await makeKey(of, "ingest");
  const session = unique("session");
  expect((await post(of, secret, spans(session, 1, 1))).status).toBe(200);
  const postmaster = (await of.postmaster())!;
  for (const pid of [postmaster, ...processesOf(postmaster)]) {
    process.kill(pid, "SIGSTOP");
    held.push(pid);
  }
  const refused = await post(of, secret, spans(session, 2, 3));
  expect(refused.status, refused.text).toBe(503);
  // UNAVAILABLE
  expect(refused.body.code).toBe(14);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  held.splice(0).forEach(resume);
  await until(async () => (await post(of, secret, spans(session, 2, 3))).status === 200);
  // Reads are refused for up to a second after the database is back.
  await until(async () => (await turnsOf(of, session).catch(() => 0)) === 3);
});
