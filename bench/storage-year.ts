import { readStorage, type Storage, settle } from "./database.ts";
import { type BenchContext, type BenchGroup, type Measurement, rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import type { BenchServer, Home } from "./server.ts";
import { withServer } from "./with-server.ts";

const DAY = 86_400_000;
const DAYS = 365;
const TURNS_A_DAY = 1_000_000;
/** Milliseconds between two turns of a session. */
const SPACING = 20_000;
const SESSION_TURNS = 400;
const CONNECTIONS = 8;
const BATCH = 1_000;

/**
 * The size of the database after a year of 1M turns a day. The row sends two whole days and takes the growth from the
 * first day to the second, in all tables and indexes, as the growth of each further day.
 */
export const storageYear: BenchGroup = {
  names: ["storage.year"],
  async *run(context) {
    yield await withServer(async (server, home) => {
      const key = await server.makeKey("ingest");
      const first = await afterDay(1, { context, home, server, key });
      const second = await afterDay(2, { context, home, server, key });
      await server.examine();
      return yearOf(first, second);
    });
  },
};

interface Side {
  context: BenchContext;
  home: Home;
  server: BenchServer;
  key: string;
}

async function afterDay(day: number, { context, home, server, key }: Side): Promise<Storage> {
  context.note(`storage.year: day ${day} of 2 ...`);
  const sessions = Math.round((TURNS_A_DAY * SPACING) / DAY);
  await sendLoad({
    targets: [{ port: server.port, key }],
    fleet: {
      connections: CONNECTIONS,
      sessions,
      turns: TURNS_A_DAY,
      spacing: (DAY * sessions) / TURNS_A_DAY,
      sessionTurns: SESSION_TURNS,
      end: Date.now() - (3 - day) * DAY,
      seed: 40 + day,
    },
    batch: BATCH,
    requests: TURNS_A_DAY / BATCH,
    ready: false,
    warmUp: 0,
    counted: 30 * 60_000,
  });
  return home.sql(async (client) => {
    await settle(client);
    // Autovacuum would do so within a minute.
    await client.query("VACUUM");
    return readStorage(client);
  });
}

function yearOf(first: Storage, second: Storage): Measurement {
  const turns = second.turns - first.turns;
  const bytes = (second.everything - first.everything) / turns;
  return {
    name: "storage.year",
    value: rounded((bytes * TURNS_A_DAY * DAYS) / 1e9, 1),
    unit: "GB",
    bytes_per_turn: rounded(bytes),
    turns_table_per_turn: rounded((second.table + second.indexes - first.table - first.indexes) / turns),
    turns_a_day: TURNS_A_DAY,
  };
}
