import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { AlertNotification, AlertRuleInput } from "@plimsoll/protocol/alerts";
import type { AlertEndpointWithSecret } from "@plimsoll/protocol/api";
import { type Receiver, startReceiver } from "../server/testing/receiver.ts";
import { createAlertRules } from "./alert-rules.ts";
import { LoadConnection, requestBytes } from "./connection.ts";
import { settle } from "./database.ts";
import { AGENTS_1000, atWork, jobOf, type LoadShape } from "./ingest.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import { keepBusy, owned, sendLoad } from "./processes.ts";
import type { BenchServer, Home } from "./server.ts";
import { withServer } from "./with-server.ts";

/** With the preset, a project has as many rules as it may. */
const MOST_RULES = 999;
const CROSSINGS = 200;
/** Milliseconds between two crossings, on average: all are sent while the others send. */
const BETWEEN = 90;
/** Connections that take turns: under load, an answer may take longer than that. */
const SENDERS = 20;
/** Milliseconds after the last crossing in which every webhook must arrive. */
const LIMIT = 30_000;
const WINDOW = 200_000;

interface BusyMachine {
  /** What other agents send meanwhile. */
  load: LoadShape;
  /** Rules beside the preset. */
  rules: number;
  /** Processes that compute without end, for each core. */
  hogs: number;
}

const MACHINES: Readonly<Record<string, BusyMachine>> = {
  "alerts.webhook": {
    load: atWork(1_000, { ...AGENTS_1000, spacing: 5_000 }),
    rules: MOST_RULES,
    hogs: 0,
  },
  "alerts.webhook_full": { load: { fleet: AGENTS_1000, counted: 20_000 }, rules: MOST_RULES, hogs: 0 },
  // 50 agents with 25 turns a second, in single requests.
  "alerts.webhook_shared": {
    load: {
      fleet: { connections: 5, sessions: 50, agents: 1, spacing: 2_000, turns: 10_000 },
      batch: 1,
      requests: 10_000,
      counted: 20_000,
      interval: 200,
    },
    rules: 20,
    hogs: 2,
  },
};

/** Milliseconds from the acknowledgement of a crossing to the webhook, with the preset as a person gets it and other rules. */
export const alertWebhook: BenchGroup = {
  names: Object.keys(MACHINES),
  async *run(context) {
    for (const [name, machine] of Object.entries(MACHINES)) {
      if (!context.wanted(name)) continue;
      context.note(`${name} ...`);
      yield await withServer(
        async (server, home) => {
          const receiver = await startReceiver();
          const close = owned(() => receiver.close());
          try {
            const measurement = await measured(name, machine, { server, home, receiver });
            await home.sql(settle);
            await server.examine();
            return { ...measurement, doctor: "ok" };
          } finally {
            await close();
          }
        },
        { PLIMSOLL_WEBHOOK_ALLOW: "loopback" },
      );
    }
  },
};

async function measured(
  name: string,
  { load, rules, hogs }: BusyMachine,
  { server, home, receiver }: { server: BenchServer; home: Home; receiver: Receiver },
): Promise<Measurement> {
  const key = await server.makeKey("ingest");
  await createAlertRules(server, rules);
  await createPreset(server, `${receiver.url}/hook`);
  const arrived = new Map<string, number>();
  receiver.answer(({ body }, response) => {
    const { alerts } = (JSON.parse(body) as { data: AlertNotification }).data;
    for (const { subject } of alerts) arrived.set(subject.harness!, performance.now());
    response.end();
  });
  let sending: Promise<Map<string, number>> | undefined;
  const processes = hogs * cpus().length;
  const endComputing = keepBusy(processes);
  const report = await sendLoad(jobOf(load, 61, [{ port: server.port, key }]), (phase) => {
    if (phase !== "counting") return;
    sending = sendCrossings(server.port, key);
    sending.catch(() => {});
  });
  const acknowledged = await sending!;
  const end = performance.now() + LIMIT;
  while (arrived.size < CROSSINGS && performance.now() < end) await sleep(10);
  await endComputing();
  const times = [...acknowledged].map(([harness, at]) => (arrived.get(harness) ?? Number.NaN) - at);
  if (times.some(Number.isNaN)) throw new Error(`${arrived.size} of ${CROSSINGS} webhooks arrived.`);
  const stages = await stagesOf(home);
  const until = (stage: "found" | "stored") =>
    [...acknowledged].map(([harness, at]) => stages.get(harness)![stage] - performance.timeOrigin - at);
  return {
    name,
    value: rounded(percentileOf(times, 0.95)),
    unit: "ms",
    until_found_p95_ms: rounded(percentileOf(until("found"), 0.95)),
    until_stored_p95_ms: rounded(percentileOf(until("stored"), 0.95)),
    p50_ms: rounded(percentileOf(times, 0.5)),
    max_ms: rounded(times.at(-1)!),
    crossings: CROSSINGS,
    rules: rules + 1,
    busy_processes: processes,
    other_events_per_s: rounded(report.events / report.seconds),
  };
}

/** When the alert of each harness was found, and when its message was stored for the endpoint. Epoch ms. */
async function stagesOf(home: Home): Promise<Map<string, { found: number; stored: number }>> {
  const { rows } = await home.sql((client) =>
    client.query<{ harness: string; found: number; stored: number }>(
      `SELECT a.place->>'harness' AS harness, (extract(epoch FROM min(a.fired_at)) * 1000)::float8 AS found,
         (extract(epoch FROM min(d.created_at)) * 1000)::float8 AS stored
       FROM alerts a JOIN alert_deliveries d ON d.project_id = a.project_id AND d.group_key = a.group_key GROUP BY 1`,
    ),
  );
  return new Map(rows.map(({ harness, ...stages }) => [harness, stages]));
}

async function createPreset(server: BenchServer, url: string): Promise<void> {
  const target = { kind: "webhook", url };
  const { endpoint } = await server.mutate<AlertEndpointWithSecret>("alerts.endpoints.create", {
    name: "receiver",
    target,
  });
  const rule: AlertRuleInput = {
    name: "Ceiling crossed",
    condition: { type: "threshold", threshold: "line" },
    severity: "critical",
    endpoints: [endpoint.id],
  };
  await server.mutate("alerts.rules.create", { rule });
}

/**
 * Lets agents cross their line, each in a harness of its own, so that no notification waits for one before.
 * @returns when each crossing was acknowledged, by harness
 */
async function sendCrossings(port: number, key: string): Promise<Map<string, number>> {
  const connections = await Promise.all(Array.from({ length: SENDERS }, () => LoadConnection.open(port)));
  const close = owned(async () => {
    for (const connection of connections) connection.close();
  });
  const send = async (connection: LoadConnection, events: readonly object[]) => {
    const body = JSON.stringify(events);
    const request = requestBytes({ port, path: "/api/v1/events", key, body });
    const { status, body: answer } = await connection.send(request);
    if (status !== 200) throw new Error(`The server answered ${status}: ${answer}`);
  };
  try {
    const harnesses = Array.from({ length: CROSSINGS }, (_, n) => `claude-code@probe-${n}`);
    await send(
      connections[0]!,
      harnesses.map((harness) => turnOf(harness, 0.5)),
    );
    const acknowledged = new Map<string, number>();
    const from = performance.now();
    const sendOwn = async (connection: LoadConnection, sender: number) => {
      for (let n = sender; n < CROSSINGS; n += SENDERS) {
        const due = from + BETWEEN * (n + Math.random());
        await sleep(Math.max(0, due - performance.now()));
        await send(connection, [turnOf(harnesses[n]!, 0.95)]);
        acknowledged.set(harnesses[n]!, performance.now());
      }
    };
    await Promise.all(connections.map(sendOwn));
    return acknowledged;
  } finally {
    await close();
  }
}

function turnOf(harness: string, utilization: number): object {
  return {
    id: `${harness}-${utilization}`,
    type: "turn",
    at: new Date().toISOString(),
    harness,
    session: "probe",
    model: "claude-sonnet-4-5-20250929",
    context_window: WINDOW,
    usage: { input_tokens: utilization * WINDOW },
  };
}
