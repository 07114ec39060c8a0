import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type BenchGroup, percentileOf, rounded } from "./measurement.ts";
import { owned } from "./processes.ts";

const PROGRAM = fileURLToPath(new URL("../packages/cli/bin/plimsoll.js", import.meta.url));
const RUNS = 60;
const WARM_UP = 5;
/** Milliseconds in which a report in the background ends, so that it takes no time from the next run. */
const AFTER_REPORT = 150;

/** Milliseconds from the start of a process. */
interface Times {
  /** To its first output, or to its end if it has none. */
  first: number;
  exit: number;
}

const NAMES = ["statusline.node", "statusline.same", "statusline.new"] as const;
type Run = Record<(typeof NAMES)[number], Times>;

/** From the start of `plimsoll statusline` to its line, with the level of the call before and with a new one; `node -e 0` to its end. */
export const statusLine: BenchGroup = {
  names: NAMES,
  async *run(context) {
    context.note("statusline ...");
    const home = await mkdtemp(join(tmpdir(), "bench-statusline-"));
    const remove = owned(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));
    try {
      await connectClaudeCode(home);
      const runs = await inTurn(home);
      for (const name of NAMES.filter(context.wanted)) {
        const first = runs.map((run) => run[name].first);
        const exit = runs.map((run) => run[name].exit);
        yield {
          name,
          value: rounded(percentileOf(first, 0.5), 1),
          unit: "ms",
          p90_ms: rounded(percentileOf(first, 0.9), 1),
          exit_ms: rounded(percentileOf(exit, 0.5), 1),
        };
      }
    } finally {
      await remove();
    }
  },
};

/** Measures the rows in turn, so that other work on the machine changes all of them alike. */
async function inTurn(home: string): Promise<Run[]> {
  const runs: Run[] = [];
  for (let index = -WARM_UP; index < RUNS; index++) {
    const level = 50_000 + index;
    const run = {
      "statusline.node": await timesOf(["-e", "0"], "", home),
      // The level of the run before.
      "statusline.same": await timesOf([PROGRAM, "statusline"], statusOf(home, level), home),
      "statusline.new": await timesOf([PROGRAM, "statusline"], statusOf(home, level + 1), home),
    };
    await sleep(AFTER_REPORT);
    if (index >= 0) runs.push(run);
  }
  return runs;
}

/** As `plimsoll connect` does. The sessions have no transcript, so a report starts but sends nothing. */
async function connectClaudeCode(home: string): Promise<void> {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9/otlp",
    OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=plim_bench",
  };
  await mkdir(join(home, ".claude"));
  await writeFile(join(home, ".claude/settings.json"), JSON.stringify({ env }));
}

const statusOf = (project: string, read: number) =>
  JSON.stringify({
    session_id: "bench",
    cwd: project,
    model: { id: "claude-opus-5" },
    context_window: {
      context_window_size: 200_000,
      current_usage: { input_tokens: 3, output_tokens: 10, cache_read_input_tokens: read },
    },
  });

async function timesOf(words: readonly string[], input: string, home: string): Promise<Times> {
  const started = performance.now();
  const child = spawn(process.execPath, words, {
    env: { ...process.env, HOME: home, PLIMSOLL_HOME: join(home, "plimsoll") },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let first: number | undefined;
  child.stdout.on("data", () => {
    first ??= performance.now() - started;
  });
  // `node -e 0` reads nothing.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`node ${words.join(" ")} exited with ${code}.`);
  const exit = performance.now() - started;
  return { first: first ?? exit, exit };
}
