import { readFile } from "node:fs/promises";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { PolicyAnswer } from "@plimsoll/protocol/api";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import type { BenchServer } from "./server.ts";
import { withServer } from "./with-server.ts";

const HARNESSES = 1_000;
const CONNECTIONS = 10_000;
/** Streams that are opened at once. */
const OPENED_AT_ONCE = 200;
const PUSHES = 5;
/** Milliseconds for which all connections stay open. */
const STAY_MS = 20_000;

/** How long a saved policy takes to arrive at connected harnesses, and how many can stay connected. */
export const policyPush: BenchGroup = {
  names: ["policy.push", "policy.connections"],
  async *run(context) {
    if (!context.wanted("policy.push") && !context.wanted("policy.connections")) return;
    yield* await withServer(async (server) => {
      const key = await server.makeKey("policy:read");
      const found: Measurement[] = [];
      if (context.wanted("policy.push")) {
        context.note("policy.push ...");
        found.push(await pushLatency(server, key));
      }
      if (context.wanted("policy.connections")) {
        context.note("policy.connections ...");
        found.push(await connections(server, key));
      }
      return found;
    });
  },
};

/** From saving a policy until every harness has fetched it, each after a notice on its own stream. */
async function pushLatency(server: BenchServer, key: string): Promise<Measurement> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const arrived: number[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let done = () => {};
  const streams = await openStreams(server, key, HARNESSES, async (harness, generation) => {
    if (generation < wanted) return;
    const answer = await fetchPolicy(server, key, harness, agent);
    if (answer.generation < wanted) return;
    arrived.push(performance.now());
    if (arrived.length === HARNESSES) done();
  });
  const last: number[] = [];
  const all: number[] = [];
  for (let push = 0; push < PUSHES; push++) {
    arrived.length = 0;
    wanted = push + 1;
    const everybody = new Promise<void>((resolve) => {
      done = resolve;
    });
    const started = performance.now();
    const policy = { settings: { thresholds: { ceiling: 50_000 + push } } };
    await server.mutate("policies.save", { policy, expected: push, reason: "a benchmark" });
    await everybody;
    last.push(arrived.at(-1)! - started);
    all.push(...arrived.map((at) => at - started));
  }
  for (const stream of streams) stream.destroy();
  agent.destroy();
  last.sort((one, other) => one - other);
  all.sort((one, other) => one - other);
  return {
    name: "policy.push",
    value: rounded(percentileOf(last, 0.5), 0),
    unit: "ms",
    slowest_ms: rounded(last.at(-1)!, 0),
    median_harness_ms: rounded(percentileOf(all, 0.5), 0),
    harnesses: HARNESSES,
  };
}

async function connections(server: BenchServer, key: string): Promise<Measurement> {
  const before = await residentMib(server.pid);
  let told = 0;
  let lost = 0;
  let wanted = Number.POSITIVE_INFINITY;
  const streams = await openStreams(server, key, CONNECTIONS, (_, generation) => {
    if (generation >= wanted) told += 1;
  });
  for (const stream of streams) {
    stream.on("close", () => {
      lost += 1;
    });
  }
  const idle = await residentMib(server.pid);
  await new Promise((resolve) => setTimeout(resolve, STAY_MS));
  const { generation } = await server.query<{ generation: number }>("policies.get");
  wanted = generation + 1;
  const started = performance.now();
  const policy = { settings: { thresholds: { ceiling: 90_000 } } };
  await server.mutate("policies.save", { policy, expected: generation, reason: "a benchmark" });
  while (told + lost < streams.length && performance.now() - started < STAY_MS) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const ms = performance.now() - started;
  const kept = streams.length - lost;
  for (const stream of streams) stream.destroy();
  return {
    name: "policy.connections",
    value: kept,
    unit: "streams",
    told,
    all_told_ms: rounded(ms, 0),
    server_kb_each: rounded(((idle - before) * 1_024) / CONNECTIONS, 1),
    server_mb: rounded(idle, 0),
  };
}

type Heard = (harness: string, generation: number) => unknown;

async function openStreams(
  server: BenchServer,
  key: string,
  count: number,
  heard: Heard,
): Promise<ClientRequest[]> {
  const streams: ClientRequest[] = [];
  while (streams.length < count) {
    const more = Array.from({ length: Math.min(OPENED_AT_ONCE, count - streams.length) }, (_, index) =>
      openStream(server, key, `bench@${streams.length + index}`, heard),
    );
    streams.push(...(await Promise.all(more)));
  }
  return streams;
}

function openStream(server: BenchServer, key: string, harness: string, heard: Heard): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const stream = request(`${server.url}/api/v1/live?only=policy`, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a stream was answered ${response.statusCode}`));
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        for (const [, generation] of text.matchAll(/"generation":(\d+)/g)) heard(harness, Number(generation));
      });
      response.on("error", () => {});
      resolve(stream);
    });
    stream.on("error", reject).end();
  });
}

function fetchPolicy(server: BenchServer, key: string, harness: string, agent: Agent): Promise<PolicyAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const path = `${server.url}/api/v1/policy?harness=${encodeURIComponent(harness)}`;
    request(path, { headers, agent }, (response: IncomingMessage) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (more: string) => {
        text += more;
      });
      response.on("end", () => resolve(JSON.parse(text) as PolicyAnswer));
    })
      .on("error", reject)
      .end();
  });
}

async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
}
