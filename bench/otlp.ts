import { compareByTurns } from "./by-turns.ts";
import { createProjects } from "./database.ts";
import type { BenchGroup } from "./measurement.ts";
import { withServer } from "./with-server.ts";

const NAME = "otlp.spans";
/** Milliseconds that both loads are counted. */
const COUNTED = 60_000;
/** 1.75 million spans take as many kilobytes, and a minute to encode. */
const REQUESTS = 3_500;

/** Spans of model calls a second in OTLP's protobuf, compared with the same calls as JSON events. */
export const otlp: BenchGroup = {
  names: [NAME],
  async *run(context) {
    if (!context.wanted(NAME)) return;
    context.note(`${NAME} ...`);
    yield await withServer(async (server, home) => {
      const ofSpans = await server.makeKey("ingest");
      return await home.sql(async (client) => {
        const [ofEvents] = await createProjects(client, 1);
        const shape = { traffic: { turnsOnly: true }, counted: COUNTED };
        const { first, second, cpuRatio, ...details } = await compareByTurns(
          { server, home, client },
          { key: ofSpans, shape: { ...shape, format: "otlp", requests: REQUESTS } },
          { key: ofEvents!, shape },
        );
        return {
          name: NAME,
          value: first,
          unit: "spans/s",
          json_events_per_s: second,
          ...details,
          ...(cpuRatio !== undefined && { cpu_ratio: cpuRatio }),
          doctor: "ok",
        };
      });
    });
  },
};
