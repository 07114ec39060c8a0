import { type BenchGroup, percentileOf, rounded } from "./measurement.ts";
import { type Home, makeHome, startServer } from "./server.ts";

const STARTS = 5;

/** From `npm start` on a built tree and a used home to the complete login page. */
export const start: BenchGroup = {
  names: ["start.page"],
  async *run(context) {
    context.note("start.page ...");
    const home = await makeHome();
    try {
      // The very first start creates the database.
      const first = await startOnce(home);
      const times: number[] = [];
      for (let index = 0; index < STARTS; index++) times.push(await startOnce(home));
      yield {
        name: "start.page",
        value: rounded(percentileOf(times, 0.5) / 1_000, 2),
        unit: "s",
        slowest_s: rounded(times.at(-1)! / 1_000, 2),
        very_first_s: rounded(first / 1_000, 2),
      };
    } finally {
      await home.remove();
    }
  },
};

/** Milliseconds from `npm start` to the first page. */
async function startOnce(home: Home): Promise<number> {
  const started = performance.now();
  const server = await startServer({ home, pages: true, command: ["npm", "--loglevel=error", "start"] });
  try {
    const response = await fetch(`${server.url}/login`);
    await response.text();
    if (response.status !== 200) throw new Error(`/login answered ${response.status}`);
    return performance.now() - started;
  } finally {
    await server.stop();
  }
}
