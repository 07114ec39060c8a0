import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Group } from "./measurement.ts";
import { percentileOf, rounded } from "./measurement.ts";
import { owned } from "./processes.ts";
import { type Home, listening, makeHome, root, serverEnvironment } from "./server.ts";

const STARTS = 5;
const STOP_LIMIT = 30_000;

/** From `npm start` on a built tree and a home that was used before, to the login page in full. */
export const start: Group = {
  names: ["start.page"],
  async *run(context) {
    context.note("start.page ...");
    const home = await makeHome();
    try {
      // The very first start makes the database.
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

/** Milliseconds until the first page. */
async function startOnce(home: Home): Promise<number> {
  const started = performance.now();
  // A group of its own: npm puts a shell between itself and the server, and not every one passes signals on.
  const child = spawn("npm", ["--loglevel=error", "start"], {
    cwd: root,
    env: serverEnvironment(home, true),
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
    shell: process.platform === "win32",
  });
  const ended = once(child, "close");
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name);
    } catch {
      // It has ended already.
    }
  };
  const stop = owned(async () => {
    if (child.pid === undefined) return;
    signal("SIGTERM");
    const timer = setTimeout(() => signal("SIGKILL"), STOP_LIMIT);
    await ended;
    clearTimeout(timer);
  });
  try {
    const response = await fetch(`${await listening(child)}/login`);
    await response.text();
    if (response.status !== 200) throw new Error(`/login answered ${response.status}`);
    return performance.now() - started;
  } finally {
    await stop();
  }
}
