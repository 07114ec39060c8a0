import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileSpool } from "@plimsoll/guard/node";
import { createReporter, type Reporter } from "@plimsoll/guard/report";
import { sessionTeller, tell } from "./progress.ts";

/** What the demo gives each harness, and what it hears back. */
export interface Surroundings {
  /** Where events go. */
  reporter: Reporter;
  /** Id of this harness instance. */
  harness: string;
  /** Makes the names of sessions unlike those of an earlier run. */
  run: string;
  /** A folder of its own. */
  folder: string;
  say: (text: string) => void;
  /** Time the scripted model takes to answer, ms: a demo that is watched should not be over at once. */
  paceMs: number;
}

/** The server, as the command line finds it: named by the environment, else this machine's with its token file. */
async function target(): Promise<{ url: string; key: string | undefined }> {
  const url = process.env.PLIMSOLL_URL ?? `http://127.0.0.1:${process.env.PORT ?? "4180"}`;
  if (process.env.PLIMSOLL_KEY !== undefined) return { url, key: process.env.PLIMSOLL_KEY };
  const home =
    process.env.PLIMSOLL_HOME ??
    (process.getuid?.() === 0 ? "/var/lib/plimsoll" : join(homedir(), ".plimsoll"));
  const key = await readFile(join(home, "local-token"), "utf8").catch(() => undefined);
  return { url, key: key?.trim() };
}

/** Runs one harness with everything it needs, and sends what it reported before it returns. */
export async function runExample<R>(name: string, harness: (around: Surroundings) => Promise<R>): Promise<R> {
  tell({ type: "running", example: name });
  try {
    return await surrounded(name, harness);
  } catch (error) {
    tell({ type: "failed", example: name, message: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

async function surrounded<R>(name: string, harness: (around: Surroundings) => Promise<R>): Promise<R> {
  const { url, key } = await target();
  const say = (text: string) => {
    console.log(text.replace(/^/gm, `${name.padEnd(10)} `));
    tell({ type: "said", example: name, text });
  };
  if (key === undefined) say(`no key for ${url}: set PLIMSOLL_KEY, or start the server on this machine`);
  const folder = await mkdtemp(join(tmpdir(), `plimsoll-${name}-`));
  const reporter = createReporter({
    url: key === undefined ? undefined : url,
    key,
    spool: fileSpool(join(folder, ".spool")),
    log: sessionTeller(name),
    flushMs: 200,
    onTrouble: ({ kind, message }) => say(`reporting: ${kind}: ${message}`),
  });
  // Not this machine's name: what a demo sends must not mix with a harness that really runs here.
  const instance = `${name}@demo`;
  reporter.record({
    type: "harness",
    id: `hello-${process.pid}-${Date.now()}`,
    at: Date.now(),
    harness: instance,
    status: "hello",
    name,
    version: "0.1.0",
    capabilities: ["turns", "crossings", "boundaries", "composition"],
  });
  const paceMs = Number(process.env.PLIMSOLL_DEMO_PACE_MS ?? 30);
  const result = await harness({
    reporter,
    harness: instance,
    run: Date.now().toString(36),
    folder,
    say,
    paceMs,
  });
  await reporter.close(10_000);
  const { recorded, sent } = reporter.stats;
  say(`sent ${sent} events${sent < recorded ? `; ${recorded - sent} did not arrive` : ""}`);
  tell({ type: "finished", example: name, sent, lost: recorded - sent });
  return result;
}

/** A small project of real files: `count` sources of some hundred lines. */
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

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Whether Node was started with the example of this name, and not with all of them bundled into one file. */
export function isMain(name: string): boolean {
  return process.argv[1]?.replaceAll("\\", "/").endsWith(`examples/${name}/main.ts`) === true;
}
