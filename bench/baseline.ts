import { randomBytes, randomUUID } from "node:crypto";
import { busyFleet } from "./ingest.ts";
import type { Group, Measurement } from "./measurement.ts";
import { rounded } from "./measurement.ts";
import { sendLoad, startEcho } from "./processes.ts";
import { makeHome, startServer } from "./server.ts";

const COUNTED = 5_000;
const ROWS_A_STATEMENT = 4_000;
const MOST_STATEMENTS = 500;

/**
 * What the machine gives today, for the bare minimum of each ingest row. Other work on the machine moves these as much
 * as those, so a ratio between the two says more than either.
 */
export const baseline: Group = {
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
      port,
      key: "none",
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

const COLUMNS = [
  "int4",
  "uuid",
  "int8",
  "timestamptz",
  "int4",
  "int4",
  "int4",
  "int4",
  "int4",
  "int4",
  "int4",
];

/** Rows like turns, one statement a transaction, one connection, fsync on. */
async function insert(): Promise<Measurement> {
  const home = await makeHome();
  try {
    const server = await startServer({ home, pages: false });
    return await home.sql(async (client) => {
      const names = COLUMNS.map((_, index) => `c${index}`);
      await client.query(
        `CREATE TABLE bare (${names.map((name, index) => `${name} ${COLUMNS[index]}`).join(", ")}, PRIMARY KEY (c0, c1, c2))`,
      );
      const statement = `INSERT INTO bare SELECT * FROM unnest(${COLUMNS.map((type, index) => `$${index + 1}::${type}[]`).join(", ")}) ON CONFLICT DO NOTHING`;
      const agents = Array.from({ length: 200 }, () => randomUUID());
      let rows = 0;
      const started = performance.now();
      let spent = 0;
      for (let index = 0; index < MOST_STATEMENTS && spent < COUNTED; index++) {
        await client.query(statement, literals(agents));
        rows += ROWS_A_STATEMENT;
        spent = performance.now() - started;
      }
      await client.query("DROP TABLE bare");
      await server.stop();
      return { name: "baseline.insert", value: rounded((rows / spent) * 1_000), unit: "rows/s" };
    });
  } finally {
    await home.remove();
  }
}

function literals(agents: readonly string[]): string[] {
  const keys = randomBytes(ROWS_A_STATEMENT * 8);
  const row = (index: number) => [
    1,
    agents[index % agents.length],
    keys.readBigInt64BE(index * 8),
    "2026-01-01T00:00:00Z",
    ...[1, 200_000, 120_000, 7, 118_000, 1_900, 400],
  ];
  const rows = Array.from({ length: ROWS_A_STATEMENT }, (_, index) => row(index));
  return COLUMNS.map((_, column) => `{${rows.map((values) => values[column]).join(",")}}`);
}
