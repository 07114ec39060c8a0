import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../../../guard/src/testing/until.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
/** False if the package is used outside the repository, where there is no server. */
export const hasServer = existsSync(join(root, "server/main.ts"));

export interface Plimsoll {
  url: string;
  home: string;
  /** On the same port and home. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a real server without pages, in its own process and data directory. */
export async function startPlimsoll(env: Record<string, string> = {}): Promise<Plimsoll> {
  const home = await mkdtemp(join(tmpdir(), "plimsoll-server-"));
  // As root, PostgreSQL runs as another user, which needs access to this folder.
  await chmod(home, 0o755);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let running = await launch(home, url, env);
  return {
    url,
    home,
    async restart() {
      await running.end();
      running = await launch(home, url, env);
    },
    async stop() {
      await running.end();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function launch(
  home: string,
  url: string,
  more: Record<string, string>,
): Promise<{ end(): Promise<void> }> {
  const server = spawn(process.execPath, ["dist/server/main.js"], {
    cwd: root,
    env: {
      ...process.env,
      NODE_ENV: "production",
      DATABASE_URL: "",
      PLIMSOLL_PAGES: "off",
      PLIMSOLL_HOME: home,
      PORT: new URL(url).port,
      ...more,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  server.stdout.on("data", (text) => {
    said += text;
  });
  server.stderr.on("data", (text) => {
    said += text;
  });
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const end = async () => {
    server.kill("SIGTERM");
    await ended;
  };
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
  await until(async () => server.exitCode !== null || (await isReady()), 90_000).catch(() => {});
  if (server.exitCode === null && (await isReady())) return { end };
  await end();
  throw new Error(`The server did not start:\n${said}`);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
