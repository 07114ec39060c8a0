import { createAlertRules } from "./alert-rules.ts";
import { compareByTurns, type LoadComparison } from "./by-turns.ts";
import { createProjects } from "./database.ts";
import { AGENTS_1000 } from "./ingest.ts";
import type { BenchGroup, Measurement } from "./measurement.ts";
import { withServer } from "./with-server.ts";

const RULES = 1_000;

/**
 * Events per second of a project with 1,000 rules over 1,000 agents, divided by those of a project without rules. Both are on
 * one server and receive the load in turn, so that other work on the machine slows both.
 */
export const alertCost: BenchGroup = {
  names: ["alerts.cost"],
  async *run(context) {
    if (!context.wanted("alerts.cost")) return;
    context.note("alerts.cost ...");
    yield await withServer(async (server, home) => {
      const watched = await server.makeKey("ingest");
      await createAlertRules(server, RULES);
      return await home.sql(async (client) => {
        const [plain] = await createProjects(client, 1);
        const shape = { fleet: AGENTS_1000 };
        const stage = { server, home, client };
        return measurementOf(await compareByTurns(stage, { key: watched, shape }, { key: plain!, shape }));
      });
    });
  },
};

function measurementOf({ ratio, first, second, cpuRatio, ...details }: LoadComparison): Measurement {
  return {
    name: "alerts.cost",
    value: ratio,
    unit: "x of the rate without rules",
    ...details,
    watched_per_s: first,
    plain_per_s: second,
    ...(cpuRatio !== undefined && { cpu_ratio: cpuRatio }),
    doctor: "ok",
  };
}
