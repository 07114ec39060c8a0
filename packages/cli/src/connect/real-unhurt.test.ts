import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { type ConnectHome, connectHome, connectStage } from "../testing/connect-run.ts";
import { TRIALS } from "../testing/harness-trials.ts";
import { type HarnessResult, harnessProgram, runApart } from "../testing/real-harness.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(PACKAGE, "bin/plimsoll.js");
const PATIENCE = 600_000;

const STATES = ["up", "down", "paused", "slow", "html", "fails"] as const;
type State = (typeof STATES)[number];
const SLOW_MS = 20_000;
/** Runs of each state, of which the median counts. */
const RUNS = Number(process.env.VITEST_PLIMSOLL_RUNS ?? 1);
/** Far above what a harness may be slowed by: other tests run at the same time. */
const MOST_SLOWER_MS = 3_000;

type Handler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Stands on the port of the server and behaves as it does in a state. */
async function startFront(server: string) {
  let port = 0;
  let closing = async () => {};
  const listening = async (listener: Server) => {
    const sockets = new Set<Socket>();
    listener.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => listener.listen(port, "127.0.0.1", resolve));
    ({ port } = listener.address() as AddressInfo);
    closing = async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    };
  };
  const page =
    (status: number): Handler =>
    (incoming, outgoing) => {
      incoming.resume();
      outgoing.writeHead(status, { "Content-Type": "text/html" }).end("<h1>Hello</h1>");
    };
  const pass: Handler = (incoming, outgoing) => {
    const { method, headers } = incoming;
    const on = request(server + incoming.url, {
      method,
      headers: { ...headers, host: new URL(server).host },
    });
    on.on("error", () => outgoing.destroy());
    on.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(on);
  };
  const slow: Handler = (incoming, outgoing) => void setTimeout(pass, SLOW_MS, incoming, outgoing).unref();
  const starts: Record<State, () => Promise<void>> = {
    up: () => listening(createHttpServer(pass)),
    down: async () => {},
    // As of a stopped process: the system accepts connections, and nobody reads.
    paused: () => listening(createServer((socket) => void socket.pause())),
    slow: () => listening(createHttpServer(slow)),
    html: () => listening(createHttpServer(page(200))),
    fails: () => listening(createHttpServer(page(500))),
  };
  const be = async (state: State) => {
    await closing();
    closing = async () => {};
    await starts[state]();
  };
  await be("up");
  return { url: `http://127.0.0.1:${port}`, be, close: () => closing() };
}

/** What differs in each run, however it reports: ids, times and durations. */
const steady = (text: string) =>
  text
    .replace(/\S*connect-home-\w+(?:\/apart)?/g, "HOME")
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, "TIME")
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s)\b/g, "DURATION");

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;

const shown = ({ stdout, stderr, code }: HarnessResult) => ({
  code,
  stdout: steady(stdout),
  stderr: steady(stderr),
});

const CONNECTED = TRIALS.filter(({ greeting }) => greeting !== undefined);

describe("a connected harness", () => {
  const stage = connectStage();

  // Hooks start the built program.
  beforeAll(async () => {
    if (!CONNECTED.some(({ program }) => harnessProgram(program))) return;
    await promisify(execFile)("npm", ["run", "--silent", "build"], { cwd: PACKAGE });
  }, PATIENCE);

  for (const { family, program, greeting, files, env, ownLines } of CONNECTED) {
    it.skipIf(harnessProgram(program) === undefined)(
      `${family} runs as if it were not connected, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      async ({ annotate }) => {
        const { person, server } = stage;
        const model = await startScriptedModel(() => ({ text: "Done.", promptTokens: 12_345 }));
        const front = await startFront(server.url);
        const apart = connectHome(person.path("apart"), server);
        for (const [name, text] of Object.entries(files?.(model.url) ?? {}))
          for (const home of [person, apart]) await home.write(name, text);
        for (const folder of ["project", "apart"]) await mkdir(person.path(folder), { recursive: true });
        // An interactive shell reads the start file with the function of connect.
        const run = async ({ home }: ConnectHome) => {
          const result = await runApart(["bash", "-ic", greeting!], {
            home,
            cwd: person.path("project"),
            env: env?.(model.url) ?? {},
            limit: 60_000,
          });
          return ownLines === undefined ? result : { ...result, stderr: result.stderr.replace(ownLines, "") };
        };
        try {
          // The first run of a home creates files.
          for (const home of [person, apart]) await run(home);
          const key = await person.run(["key", "create", "--name", "front", "--scope", "ingest", "--quiet"]);
          await promisify(execFile)(process.execPath, [PROGRAM, "connect", family, "--yes", "--no-wait"], {
            env: {
              NODE_ENV: "test",
              HOME: person.home,
              PLIMSOLL_HOME: server.home,
              PLIMSOLL_URL: front.url,
              PLIMSOLL_INGEST_KEY: key.trim(),
              SHELL: "/bin/bash",
              PATH: "",
            },
          });
          const usual = shown(await run(apart));
          expect(usual.stdout, usual.stderr).toContain("Done.");
          const times: number[] = [];
          const row: string[] = [];
          for (const state of STATES) {
            await front.be(state);
            const slower: number[] = [];
            for (let number = 0; number < RUNS; number += 1) {
              const [watched, unwatched] = [await run(person), await run(apart)];
              expect(shown(watched), state).toEqual(usual);
              expect(shown(unwatched), state).toEqual(usual);
              slower.push(watched.ms - unwatched.ms);
              times.push(unwatched.ms);
            }
            // On a busy machine everything takes several times as long.
            expect(median(slower), state).toBeLessThan(MOST_SLOWER_MS + median(times));
            row.push(`${median(slower).toFixed(0)} ms`);
          }
          await annotate(`| ${[family, `${(median(times) / 1_000).toFixed(1)} s`, ...row].join(" | ")} |`);
        } finally {
          await model.close();
          await front.close();
        }
      },
      PATIENCE,
    );
  }
});
