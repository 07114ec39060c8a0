import { LoadConnection, requestBytes } from "./connection.ts";
import { settle } from "./database.ts";
import { Fleet } from "./fleet.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import { withServer } from "./with-server.ts";

const EVENTS = 100_000;
const BATCH = 500;
/** Milliseconds between two turns of the agent. */
const SPACING = 5_000;
const WARM_UPS = 20;
const PROBES = 200;
/** The late events happened 1 to 24 hours before they arrive. */
const LATEST = 3_600_000 / SPACING;
const EARLIEST = (24 * 3_600_000) / SPACING;

/**
 * What a late event costs beyond one that arrives in order, in an agent with 100,000 turns. Both wait for their
 * projection (`Prefer: wait`), and alternate.
 */
export const lateEvent: BenchGroup = {
  names: ["ingest.late_event"],
  async *run(context) {
    context.note("ingest.late_event ...");
    yield await withServer(async (server, home) => {
      const key = await server.makeKey("ingest");
      const { history, late, inTime } = eventsOfAgent();
      const connection = await LoadConnection.open(server.port);
      const send = async (body: string, prefer?: string): Promise<number> => {
        const request = requestBytes({ port: server.port, path: "/api/v1/events", key, body, prefer });
        const started = performance.now();
        const answer = await connection.send(request);
        const spent = performance.now() - started;
        if (answer.status !== 200) throw new Error(`The server answered ${answer.status}: ${answer.body}`);
        return spent;
      };
      for (let at = 0; at < history.length; at += BATCH) {
        await send(`[${history.slice(at, at + BATCH).join(",")}]`);
      }
      await home.sql(settle);
      const times: { late: number[]; inTime: number[] } = { late: [], inTime: [] };
      for (let probe = 0; probe < WARM_UPS + PROBES; probe++) {
        const spent = { inTime: await send(inTime[probe]!, "wait"), late: await send(late[probe]!, "wait") };
        if (probe < WARM_UPS) continue;
        times.late.push(spent.late);
        times.inTime.push(spent.inTime);
      }
      connection.close();
      await home.sql(settle);
      await server.examine();
      return measurement(times);
    });
  },
};

/** The agent's history without some turns of the last day, those turns, and the events after the history. */
function eventsOfAgent(): { history: string[]; late: string[]; inTime: string[] } {
  const probes = WARM_UPS + PROBES;
  const fleet = new Fleet({
    connections: 1,
    sessions: 1,
    agents: 1,
    turns: EVENTS + 2 * probes,
    spacing: SPACING,
    sessionTurns: 0,
    end: Date.now() - 3_600_000,
    seed: 51,
  });
  const every = Math.floor((EARLIEST - LATEST) / probes);
  const history: string[] = [];
  const late: string[] = [];
  let next = EVENTS - EARLIEST;
  for (let index = 0; index < EVENTS; index++) {
    const event = fleet.event(0);
    if (index < next || late.length === probes || !event.includes('"type":"turn"')) {
      history.push(event);
    } else {
      late.push(event);
      next += every;
    }
  }
  const inTime = Array.from({ length: probes }, () => fleet.event(0));
  return { history, late, inTime };
}

function measurement({ late, inTime }: { late: number[]; inTime: number[] }): Measurement {
  const [late50, inTime50] = [percentileOf(late, 0.5), percentileOf(inTime, 0.5)];
  const [late95, inTime95] = [percentileOf(late, 0.95), percentileOf(inTime, 0.95)];
  return {
    name: "ingest.late_event",
    value: rounded(late50 - inTime50, 1),
    unit: "ms",
    p95_difference_ms: rounded(late95 - inTime95, 1),
    late_p50_ms: rounded(late50, 1),
    late_p95_ms: rounded(late95, 1),
    in_time_p50_ms: rounded(inTime50, 1),
    in_time_p95_ms: rounded(inTime95, 1),
    turns: EVENTS,
    doctor: "ok",
  };
}
