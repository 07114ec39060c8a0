import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { filePolicyStore, fileSpool } from "@plimsoll/guard/node";
import {
  type PolicySource,
  type PolicySourceOptions,
  type PolicyTarget,
  policySource,
} from "@plimsoll/guard/policy-source";
import { createReporter, type Reporter } from "@plimsoll/guard/report";
import { reportProgress, sessionReporter } from "./progress.ts";
import { withKey } from "./temporary-key.ts";

/** What each example receives. */
export interface ExampleContext {
  /** Sends the events to the server. */
  reporter: Reporter;
  /** Id of this harness instance. */
  harness: string;
  /** Suffix that makes session names unique per run. */
  run: string;
  /** The example's temporary folder. */
  folder: string;
  say: (text: string) => void;
  /** Keeps a guard on the project's policy, within the bounds of this harness, until it is closed. Absent without a server. */
  followPolicy?: (guard: PolicyTarget, bounds: PolicySourceOptions["bounds"]) => PolicySource;
  /** Delay of each scripted answer, in ms, so that a viewer can follow the demo. */
  paceMs: number;
}

/** Examples that take the project's policy. */
const FOLLOWING: ReadonlySet<string> = new Set(["phantom"]);

/** Delay of each scripted answer of an example that runs alone, in ms. */
const ALONE_PACE_MS = 30;

/** Runs one example and sends its events before it returns. `paceMs` delays each scripted answer. */
export async function runExample<R>(
  name: string,
  harness: (context: ExampleContext) => Promise<R>,
  paceMs = Number(process.env.PLIMSOLL_DEMO_PACE_MS ?? ALONE_PACE_MS),
): Promise<R> {
  reportProgress({ type: "running", example: name });
  try {
    return await runWithContext(name, harness, paceMs);
  } catch (error) {
    reportProgress({
      type: "failed",
      example: name,
      message: error instanceof Error ? error.message : String(error),
    });
    throw error;
  }
}

async function runWithContext<R>(
  name: string,
  harness: (context: ExampleContext) => Promise<R>,
  paceMs: number,
): Promise<R> {
  const url = process.env.PLIMSOLL_URL ?? `http://127.0.0.1:${process.env.PORT ?? "4180"}`;
  const say = (text: string) => {
    console.log(text.replace(/^/gm, `${name.padEnd(10)} `));
    reportProgress({ type: "said", example: name, text });
  };
  return withKey(url, say, (key) => runWithKey({ name, url, key, say, harness, paceMs }));
}

async function runWithKey<R>(options: {
  name: string;
  url: string;
  key: string | undefined;
  say: (text: string) => void;
  harness: (context: ExampleContext) => Promise<R>;
  paceMs: number;
}): Promise<R> {
  const { name, url, key, say, harness, paceMs } = options;
  const folder = await mkdtemp(join(tmpdir(), `plimsoll-${name}-`));
  const reporter = createReporter({
    url: key === undefined ? undefined : url,
    key,
    spool: fileSpool(join(folder, ".spool")),
    log: sessionReporter(name),
    flushMs: 200,
    onTrouble: ({ kind, message }) => say(`reporting: ${kind}: ${message}`),
  });
  // Use a fixed host name, so that demo events do not mix with a real harness on this machine.
  const instance = `${name}@demo`;
  reporter.record({
    type: "harness",
    id: `hello-${process.pid}-${Date.now()}`,
    at: Date.now(),
    harness: instance,
    status: "hello",
    name,
    version: "0.1.0",
    capabilities: [
      "turns",
      "crossings",
      "boundaries",
      "composition",
      ...(FOLLOWING.has(name) ? ["policy"] : []),
    ],
  });
  const result = await harness({
    reporter,
    harness: instance,
    run: Date.now().toString(36),
    folder,
    say,
    ...(key !== undefined && {
      followPolicy: (guard: PolicyTarget, bounds: PolicySourceOptions["bounds"]) =>
        policySource({
          url,
          key,
          harness: instance,
          guard,
          reporter,
          ...(bounds && { bounds }),
          store: filePolicyStore(join(folder, ".policy")),
          onChange: (settings, generation) =>
            say(`policy ${generation}: ${JSON.stringify(settings.thresholds ?? {})}`),
          onTrouble: (message) => say(`policy: ${message}`),
        }),
    }),
    paceMs,
  });
  await reporter.close(10_000);
  const { recorded, sent } = reporter.stats;
  say(`sent ${sent} events${sent < recorded ? `; ${recorded - sent} did not arrive` : ""}`);
  reportProgress({ type: "finished", example: name, sent, lost: recorded - sent });
  return result;
}

/** Writes a small project of `count` source files and returns their paths. */
export async function makeProject(folder: string, count: number): Promise<string[]> {
  await mkdir(join(folder, "src"), { recursive: true });
  const paths = Array.from({ length: count }, (_, at) => `src/module-${at + 1}.ts`);
  for (const [at, path] of paths.entries()) {
    const lines = Array.from(
      { length: 60 + ((at * 37) % 90) },
      (_, line) =>
        `export function step${line}(input: number): number { return input * ${line + at} + ${at}; }`,
    );
    await writeFile(join(folder, path), `// Module ${at + 1}\n${lines.join("\n")}\n`);
  }
  return paths;
}

/** Resolves after `ms`, or at once when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return pause(ms, undefined, { ...(signal && { signal }) }).catch(() => {});
}

/** True if Node runs this example's own file, not the bundle of all examples. */
export function isMain(name: string): boolean {
  return process.argv[1]?.replaceAll("\\", "/").endsWith(`examples/${name}/main.ts`) === true;
}
