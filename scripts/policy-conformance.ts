import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { type ConformanceAnswer, ConformanceServer } from "./policy-conformance-server.ts";

const CASES = fileURLToPath(new URL("../docs/policy-conformance/cases", import.meta.url));
const KEY = "conformance-key";
const HARNESS = "conformance@host-1";
/** Longest wait for one expectation, in ms. */
const PATIENCE_MS = 15_000;

/** What a step waits for. */
interface Expectation {
  /** A part of the settings that the client printed last. */
  settings?: Record<string, unknown>;
  generation?: number;
  /** The new acknowledgements, oldest first: a part of each. `received` is optional everywhere and left out. */
  acks?: Record<string, unknown>[];
  /** The last request for the policy had this `If-None-Match`: `none`, or the hash of the last policy served. */
  tag?: "none" | "last";
  /** The client printed nothing in this step. */
  unchanged?: boolean;
  /** A stream was opened in this step. */
  stream?: boolean;
}

interface Step {
  do?: "start" | "stop" | "truncate_state";
  /** Answers from now on. With several, each but the last answers once. */
  answers?: ConformanceAnswer[];
  live?: "open" | "closed" | "silent";
  /** Sends a notice with this generation on every stream. */
  notice?: number;
  /** Waits for so many further answers to requests for the policy. */
  requests?: number;
  expect?: Expectation;
}

/** A file in `docs/policy-conformance/cases`. */
export interface ConformanceCase {
  name: string;
  title: string;
  /** What a client must be able to do beyond the core. */
  needs: string[];
  bounds?: Record<string, unknown>;
  allow?: string[];
  steps: Step[];
}

/** Reads all cases, in the order of their names. */
export async function readCases(): Promise<ConformanceCase[]> {
  const names = (await readdir(CASES)).filter((name) => name.endsWith(".json")).sort();
  return Promise.all(
    names.map(async (name) => ({
      name: name.replace(/\.json$/, ""),
      ...JSON.parse(await readFile(join(CASES, name), "utf8")),
    })),
  );
}

/**
 * Plays one case against a client over HTTP.
 * @param command program and arguments of the client
 * @returns what went wrong, or undefined
 */
export async function playCase(
  one: ConformanceCase,
  command: readonly string[],
): Promise<string | undefined> {
  const run = new CaseRun(one, command, await mkdtemp(join(tmpdir(), "policy-conformance-")));
  try {
    await run.play();
    return run.server.violations[0];
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await run.end();
  }
}

class CaseRun {
  readonly server = new ConformanceServer(KEY, HARNESS);
  readonly #case: ConformanceCase;
  readonly #command: readonly string[];
  readonly #folder: string;
  #client: ChildProcess | undefined;
  #printed: { generation: number; settings: Record<string, unknown> }[] = [];
  #errors = "";

  constructor(one: ConformanceCase, command: readonly string[], folder: string) {
    this.#case = one;
    this.#command = command;
    this.#folder = folder;
  }

  async play(): Promise<void> {
    await this.server.start();
    for (const [place, step] of this.#case.steps.entries()) await this.#play(step, place + 1);
  }

  async end(): Promise<void> {
    await this.#stop();
    await this.server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #play(step: Step, number: number): Promise<void> {
    const { server } = this;
    const printed = this.#printed.length;
    const streams = server.streamed;
    server.acks.length = 0;
    if (step.live !== undefined) server.live = step.live;
    if (step.answers !== undefined) server.answers = [...step.answers];
    if (step.do === "stop") await this.#stop();
    if (step.do === "truncate_state") await this.#truncateState();
    if (step.do === "start") this.#start();
    if (step.notice !== undefined) server.notice(step.notice);
    if (step.requests !== undefined) {
      const until = server.answered + step.requests;
      await this.#wait(() => (server.answered >= until ? undefined : "fewer requests than expected"), number);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const { expect } = step;
    if (expect === undefined) return;
    await this.#wait(() => {
      if (expect.unchanged === true && this.#printed.length > printed)
        return "the client changed its settings";
      if (expect.stream === true && server.streamed === streams) return "no stream was opened";
      return this.#unmet(expect);
    }, number);
  }

  #unmet({ settings, generation, acks, tag }: Expectation): string | undefined {
    const last = this.#printed.at(-1);
    if (settings !== undefined && !holds(last?.settings, settings))
      return `settings: ${JSON.stringify(settings)} is not in ${JSON.stringify(last?.settings)}`;
    if (generation !== undefined && last?.generation !== generation)
      return `generation: ${last?.generation} instead of ${generation}`;
    const told = this.server.acks.filter(({ status }) => status !== "received");
    if (acks !== undefined && (told.length !== acks.length || !acks.every((ack, at) => holds(told[at], ack))))
      return `acknowledgements: ${JSON.stringify(told)} instead of ${JSON.stringify(acks)}`;
    const wanted = tag === "last" ? this.server.lastTag : undefined;
    if (tag !== undefined && this.server.lastAsked !== wanted)
      return `If-None-Match: ${this.server.lastAsked} instead of ${wanted}`;
    return undefined;
  }

  async #wait(unmet: () => string | undefined, number: number): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    for (let why = unmet(); why !== undefined; why = unmet()) {
      if (performance.now() > end) throw new Error(`step ${number}: ${why}. ${this.#errors.slice(-500)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  #start(): void {
    const [program, ...rest] = this.#command;
    const { bounds, allow } = this.#case;
    const env = {
      PATH: process.env.PATH,
      HOME: this.#folder,
      PLIMSOLL_URL: this.server.url,
      PLIMSOLL_KEY: KEY,
      PLIMSOLL_HARNESS: HARNESS,
      PLIMSOLL_STATE: this.#folder,
      POLL_SECONDS: "0.3",
      SILENT_SECONDS: "1",
      ...(bounds && { PLIMSOLL_BOUNDS: JSON.stringify(bounds) }),
      ...(allow && { PLIMSOLL_ALLOW: JSON.stringify(allow) }),
    } as unknown as NodeJS.ProcessEnv;
    const client = spawn(program!, rest, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let rest_ = "";
    client.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest_ + text).split("\n");
      rest_ = lines.pop()!;
      for (const line of lines) this.#printed.push(JSON.parse(line));
    });
    client.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    client.on("error", (error) => {
      this.#errors += String(error);
    });
    this.#client = client;
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client?.pid === undefined || client.exitCode !== null || client.signalCode !== null) return;
    const ended = new Promise((resolve) => client.on("close", resolve));
    // The client's group, so that programs it started end with it.
    process.kill(-client.pid, "SIGKILL");
    await ended;
  }

  async #truncateState(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const text = await readFile(path, "utf8").catch(() => "");
      await writeFile(path, text.slice(0, text.length / 2));
    }
  }
}

/** Whether `whole` has everything that `part` has. */
function holds(whole: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return isDeepStrictEqual(whole, part);
  if (typeof whole !== "object" || whole === null) return false;
  return Object.entries(part).every(([key, value]) => holds((whole as Record<string, unknown>)[key], value));
}

/** `node --import tsx scripts/policy-conformance.ts [--can stream,store] [--case name] -- program [arguments]` */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { can: { type: "string", default: "" }, case: { type: "string" } },
    allowPositionals: true,
  });
  if (positionals.length === 0) throw new Error("Name the client's program after --.");
  const can = new Set(values.can.split(","));
  for (const one of await readCases()) {
    if (values.case !== undefined && values.case !== one.name) continue;
    const lacks = one.needs.filter((need) => !can.has(need));
    const wrong = lacks.length > 0 ? undefined : await playCase(one, positionals);
    const outcome = lacks.length > 0 ? `skipped: needs ${lacks.join(", ")}` : (wrong ?? "ok");
    console.log(`${one.name}: ${outcome}`);
    if (wrong !== undefined) process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
