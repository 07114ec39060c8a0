import { readStorage, type Storage, settle, upkeepDone } from "./database.ts";
import { type BenchContext, type BenchGroup, rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import type { BenchServer, Home } from "./server.ts";
import { withServer } from "./with-server.ts";

const DAY = 86_400_000;
const DAYS = 365;
/** Milliseconds between two turns of a session. */
const SPACING = 20_000;
const SESSION_TURNS = 400;
const CONNECTIONS = 8;
const BATCH = 1_000;
/** Days between the last turn and now: all minutes are old enough to be packed. */
const AGE = 3;

/** Turns of a period. */
interface Period {
  turns: number;
  days: number;
}
const BUSY: Period = { turns: 1_000_000, days: 1 };
/** Few turns share a minute. */
const SPARSE: Period = { turns: 500_000, days: 15 };

/**
 * The size of the database after a year of 1M turns a day, with what came of their tool calls. The row sends two whole days and takes the
 * growth from the first day to the second, in all tables and indexes, as the growth of each further day. The same with two periods
 * of 33,000 turns a day.
 */
export const storageYear: BenchGroup = {
  names: ["storage.year"],
  async *run(context) {
    const busy = await growth(context, BUSY);
    const sparse = await growth(context, SPARSE);
    yield {
      name: "storage.year",
      value: rounded((busy.everything * BUSY.turns * DAYS) / 1e9, 1),
      unit: "GB",
      bytes_per_turn: rounded(busy.everything),
      turns_table_per_turn: rounded(busy.table + busy.indexes),
      turns_a_day: BUSY.turns,
      sparse_bytes_per_turn: rounded(sparse.everything),
      sparse_turns_a_day: rounded(SPARSE.turns / SPARSE.days),
    };
  },
};

/** Bytes a turn that the second period adds. */
async function growth(context: BenchContext, period: Period): Promise<Omit<Storage, "turns">> {
  return withServer(async (server, home) => {
    const key = await server.makeKey("ingest");
    const first = await afterPeriod(1, { context, period, home, server, key });
    const second = await afterPeriod(2, { context, period, home, server, key });
    await server.examine();
    const turns = second.turns - first.turns;
    const of = (part: keyof Storage) => (second[part] - first[part]) / turns;
    return { everything: of("everything"), table: of("table"), indexes: of("indexes") };
  });
}

interface Side {
  context: BenchContext;
  period: Period;
  home: Home;
  server: BenchServer;
  key: string;
}

async function afterPeriod(number: 1 | 2, side: Side): Promise<Storage> {
  const { context, period, home, server, key } = side;
  const { turns, days } = period;
  context.note(`storage.year: ${days === 1 ? "day" : `${days} days,`} ${number} of 2 ...`);
  const sessions = Math.round((turns * SPACING) / (days * DAY));
  await sendLoad({
    targets: [{ port: server.port, key }],
    fleet: {
      connections: CONNECTIONS,
      sessions,
      turns,
      spacing: (days * DAY * sessions) / turns,
      sessionTurns: SESSION_TURNS,
      outcomes: true,
      end: Date.now() - (AGE + (2 - number) * days) * DAY,
      seed: 40 + number,
    },
    batch: BATCH,
    requests: turns / BATCH,
    toEnd: true,
    ready: false,
    warmUp: 0,
    counted: 30 * 60_000,
  });
  return home.sql(async (client) => {
    await settle(client);
    await upkeepDone(client);
    return readStorage(client);
  });
}
