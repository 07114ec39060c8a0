import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { PlimsollServer } from "./server.ts";

/** Milliseconds of each answer: time to change the policy while the example works. */
const PACE_MS = 700;

/** Runs the example on the Claude Agent SDK, with a scripted model, until the test is over. */
export async function withPhantom(server: PlimsollServer, work: () => Promise<void>): Promise<void> {
  const key = await server.createKey("phantom", ["ingest", "policy:read"]);
  const child: ChildProcess = spawn(process.execPath, ["--import", "tsx", "examples/phantom/main.ts"], {
    env: {
      PATH: process.env.PATH,
      HOME: server.home,
      NODE_ENV: "test",
      PLIMSOLL_URL: server.url,
      PLIMSOLL_KEY: key,
      PLIMSOLL_DEMO_PACE_MS: String(PACE_MS),
    },
    stdio: "ignore",
  });
  const exited = once(child, "exit");
  try {
    await work();
  } finally {
    child.kill();
    await exited;
  }
}
