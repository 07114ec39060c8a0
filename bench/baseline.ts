import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import { seededRandom } from "../examples/large-fleet/random.ts";
import { defineTable } from "../server/db/tables/table.ts";
import type { TurnRow } from "../server/db/tables/turns.ts";
import { busyFleet } from "./ingest.ts";
import { type BenchGroup, type Measurement, rounded } from "./measurement.ts";
import { sendLoad, startEcho } from "./processes.ts";
import { withServer } from "./with-server.ts";

const COUNTED = 5_000;
const WARM_UP = 5_000;
const ROWS_A_STATEMENT = 4_000;
const PROJECT = 1;
const AGENTS = 200;
/** Milliseconds between two turns of an agent. */
const SPACING = 5_000;

/**
 * The bare minimum of each ingest row. Other work on the machine changes these rows as much as the ingest rows, so
 * compare their ratios.
 */
export const baseline: BenchGroup = {
  names: ["baseline.echo", "baseline.insert"],
  async *run(context) {
    if (context.wanted("baseline.echo")) {
      context.note("baseline.echo ...");
      yield await echo();
    }
    if (context.wanted("baseline.insert")) {
      context.note("baseline.insert ...");
      yield await insert();
    }
  },
};

async function echo(): Promise<Measurement> {
  const { port, close } = await startEcho();
  try {
    const report = await sendLoad({
      targets: [{ port, key: "none" }],
      fleet: busyFleet(128, 400_000, 3),
      batch: 1,
      requests: 400_000,
      ready: true,
      warmUp: 1_000,
      counted: COUNTED,
    });
    return {
      name: "baseline.echo",
      value: rounded(report.requests / report.seconds),
      unit: "requests/s",
      p99_ms: rounded(report.p99, 1),
      generator_cores: rounded(report.cpu, 2),
    };
  } finally {
    await close();
  }
}

/** A row for each turn, as a program would store them that does not pack turns. */
const plainTurns = defineTable("plain_turns", ["agent", "key"], {
  agent: "int4",
  key: "decimal",
  at: "time",
  delay: "int4",
  modelId: "int4",
  windowIndex: "int4",
  windowTokens: "int4?",
  contextTokens: "int4?",
  inputTokens: "int4?",
  cacheRead: "int4?",
  cacheWrite: "int4?",
  outputTokens: "int4?",
  reasoning: "int4?",
  seq: "int4?",
  sentWindow: "int4?",
  sentLimit: "int4?",
  durationMs: "int4?",
  costMicros: "int4?",
  facets: "int2",
  composition: "int4[]?",
});

/** The second index finds an agent's turns of a time; the turns of five minutes share an entry. */
const CREATE_PLAIN_TURNS = `
CREATE TABLE plain_turns (
  at timestamptz(3) NOT NULL, key bigint NOT NULL, project_id int NOT NULL, agent int NOT NULL, delay int NOT NULL,
  model_id int NOT NULL, window_index int NOT NULL, window_tokens int, context_tokens int, input_tokens int, cache_read int,
  cache_write int, output_tokens int, reasoning int, seq int, sent_window int, sent_limit int, duration_ms int,
  cost_micros int, facets smallint NOT NULL, composition int[], PRIMARY KEY (project_id, agent, key));
CREATE INDEX ON plain_turns (project_id, agent, date_bin('5 minutes', at, '2000-01-01Z'))`;

/**
 * Inserts turns into a plain table with its indexes: one connection, one statement a transaction, fsync on. The rate counts
 * the time in which a program makes the rows and the parameters; `statements_alone` does not.
 */
function insert(): Promise<Measurement> {
  return withServer((_server, home) =>
    home.sql(async (client) => {
      await client.query(CREATE_PLAIN_TURNS);
      const next = turnRows();
      await insertFor(WARM_UP, client, next);
      // The ingest rows are counted after a checkpoint too.
      await home.checkpoint();
      const { rows, inserting, elapsed } = await insertFor(COUNTED, client, next);
      return {
        name: "baseline.insert",
        value: rounded((rows / elapsed) * 1_000),
        unit: "rows/s",
        statements_alone: rounded((rows / inserting) * 1_000),
      };
    }),
  );
}

/** Returns the rows, the milliseconds that the statements took, and the milliseconds in total. */
async function insertFor(milliseconds: number, client: Client, next: () => TurnRow[]) {
  const started = performance.now();
  let rows = 0;
  let inserting = 0;
  while (performance.now() < started + milliseconds) {
    const { text, values } = plainTurns.insert(PROJECT, next());
    const before = performance.now();
    await client.query({ name: "insert", text, values });
    inserting += performance.now() - before;
    rows += ROWS_A_STATEMENT;
  }
  return { rows, inserting, elapsed: performance.now() - started };
}

/** Returns the rows of one statement after the other: turns as `busyFleet` has them, in order of time. */
function turnRows(): () => TurnRow[] {
  const random = seededRandom(4);
  const start = Date.now() - 86_400_000;
  let turn = 0;
  const row = (): TurnRow => {
    const agent = turn % AGENTS;
    const at = start + Math.floor(turn / AGENTS) * SPACING + Math.floor(random() * SPACING);
    turn += 1;
    const contextTokens = 14_000 + Math.floor(random() * 140_000);
    const isThorough = agent % 2 === 0;
    return {
      agent: agent + 1,
      key: randomBytes(8).readBigInt64BE().toString(),
      at,
      delay: Math.round((Date.now() - at) / 1_000),
      modelId: 1 + (agent % 3),
      windowIndex: 1,
      windowTokens: 200_000,
      contextTokens,
      inputTokens: 7,
      cacheRead: contextTokens - 1_907,
      cacheWrite: 1_900,
      cacheWriteHour: undefined,
      outputTokens: Math.floor(random() * 3_000),
      reasoning: undefined,
      seq: undefined,
      sentWindow: undefined,
      sentLimit: undefined,
      durationMs: isThorough ? Math.floor(random() * 40_000) : undefined,
      costMicros: isThorough ? Math.floor(random() * 200_000) : undefined,
      facets: 14,
      composition: undefined,
      provenance: undefined,
      limitClaims: undefined,
      otherWitnesses: undefined,
      rebuild: undefined,
      outcome: undefined,
      outcomeKnown: undefined,
      resultOf: undefined,
      tool: undefined,
    };
  };
  return () => Array.from({ length: ROWS_A_STATEMENT }, row);
}
