import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { keep, keptRequest, type Target } from "./corpus.ts";
import { FaultBook } from "./fault-book.ts";
import { type HttpInput, requestBytes } from "./http-input.ts";
import { judge, type Verdict } from "./judge.ts";
import { growthOf, processorMs } from "./memory.ts";
import { minimiseBytes } from "./minimise.ts";
import { Pipeline } from "./pipeline.ts";
import { count, type Found, type TargetReport } from "./report.ts";
import { caughtUp, countedEvents, doctorFaults, type ServerUnderTest } from "./server-under-test.ts";
import { type Watch, watchServer } from "./watch.ts";

const CONNECTIONS = 6;
const DEPTH = 12;
/** Inputs remembered with their times, to find which one made the server stall. */
const REMEMBERED = 20_000;
const PROGRESS_MS = 5_000;
const SUSPECTS = 150;
/** Inputs that took longest, whose processor time is measured. */
const SLOWEST = 20;
/** How often each of them is sent for that. */
const TIMES = 5;
/** Processor time that a request may take: in ms, and in microseconds for each byte. */
const PROCESSOR = { baseMs: 250, byteUs: 20 };
/** A suspect sent alone that keeps `/healthz` waiting this long is the culprit, ms. */
const CULPRIT_MS = 400;

export interface HttpTargetOptions {
  target: Target;
  seed: number;
  /** Makes input number `index`. */
  inputs: (index: number) => HttpInput;
  /** Milliseconds. */
  duration: number;
  note: (text: string) => void;
}

interface Sent {
  index: number;
  from: number;
  to: number;
}

/** Sends inputs to a server until the time is up, judges every answer, and keeps the inputs that failed. */
export async function fuzzServer(under: ServerUnderTest, options: HttpTargetOptions): Promise<TargetReport> {
  const { server, credentials } = under;
  const { target, seed, inputs, duration, note } = options;
  const host = new URL(server.url).host;
  const watch = watchServer(server.port, server.pid);
  const pipelines = Array.from({ length: CONNECTIONS }, () => new Pipeline(server.port));
  const outcomes = new Map<string, number>();
  const faults = new FaultBook<HttpInput>();
  const remembered: Sent[] = [];
  const before = await countedEvents(server);
  let accepted = 0;
  let next = 0;
  let settled = 0;

  const began = performance.now();
  const deadline = began + duration;
  const progress = setInterval(() => {
    const rate = Math.round(settled / ((performance.now() - began) / 1_000));
    note(
      `${target}: ${count(settled)} inputs, ${count(rate)}/s, healthz at most ${Math.round(watch.longest())} ms`,
    );
  }, PROGRESS_MS);

  async function lane(pipeline: Pipeline): Promise<void> {
    while (performance.now() < deadline && server.child.exitCode === null) {
      const index = next++;
      const input = inputs(index);
      const from = Date.now();
      const answer = await pipeline.send(input.method, requestBytes(input, host, credentials));
      remembered[index % REMEMBERED] = { index, from, to: Date.now() };
      const verdict = judge(input, answer);
      settled += 1;
      accepted += verdict.accepted;
      outcomes.set(verdict.outcome, (outcomes.get(verdict.outcome) ?? 0) + 1);
      if (verdict.fault !== undefined)
        faults.add(verdict.fault, verdict.detail ?? verdict.outcome, index, input, placeOf(input));
    }
  }

  try {
    await Promise.all(pipelines.flatMap((pipeline) => Array.from({ length: DEPTH }, () => lane(pipeline))));
    const seconds = (performance.now() - began) / 1_000;
    clearInterval(progress);
    const observed = watch.take();
    const problems: string[] = [];
    if (server.child.exitCode !== null) {
      problems.push(`the server exited with ${server.child.exitCode}: ${server.output().slice(-2_000)}`);
    } else {
      for (const { at, ms } of observed.stalls) {
        problems.push(`/healthz took ${Math.round(ms)} ms at ${new Date(at).toISOString()}`);
      }
      if (observed.failedProbes > 0) problems.push(`${observed.failedProbes} requests of /healthz failed`);
      const stalls = observed.stalls.slice(0, 3);
      for (const culprit of await culprits(stalls, remembered)) {
        faults.add(
          "stall",
          `${culprit.ms} ms without an answer of /healthz`,
          culprit.index,
          inputs(culprit.index),
        );
      }
      await caughtUp(server);
      for (const { index, ms, bytes } of await costly(remembered)) {
        faults.add("processor", `${ms} ms of processor time for ${bytes} bytes`, index, inputs(index));
      }
      const counted = (await countedEvents(server)) - before;
      const resent = pipelines.reduce((sum, pipeline) => sum + pipeline.resent, 0);
      // A request that was sent again may have been counted twice. An answer to telemetry does not say how many events it made.
      const isExact = resent === 0 && target !== "telemetry";
      if (counted < accepted || (isExact && counted !== accepted)) {
        problems.push(`the answers accepted ${accepted} events and the server counted ${counted}`);
      }
      problems.push(...(await doctorFaults(server)));
    }
    const growth = growthOf(observed.memory);
    const medians = growth.medians.map((mib) => Math.round(mib));
    if (growth.grows) problems.push(`memory keeps growing: ${medians.join(", ")} MiB`);
    return {
      target,
      seed,
      inputs: settled,
      seconds,
      outcomes,
      found: await kept(faults),
      problems,
      measured: [
        `healthz p99 ${observed.p99Ms.toFixed(1)} ms`,
        `max ${Math.round(observed.maxMs)} ms of ${count(observed.probes)}`,
        `memory by quarter ${medians.join(", ")} MiB`,
        `${count(accepted)} events accepted`,
      ],
    };
  } finally {
    clearInterval(progress);
    for (const pipeline of pipelines) pipeline.close();
    await watch.stop();
  }

  /** Sends one input on a connection of its own. */
  async function alone(input: HttpInput): Promise<Verdict> {
    const pipeline = new Pipeline(server.port);
    try {
      return judge(input, await pipeline.send(input.method, requestBytes(input, host, credentials)));
    } finally {
      pipeline.close();
    }
  }

  /** Of the inputs that took longest, those that cost more than their bytes explain, twice. */
  async function costly(log: readonly Sent[]): Promise<{ index: number; ms: number; bytes: number }[]> {
    const found: { index: number; ms: number; bytes: number }[] = [];
    const slowest = [...log].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, SLOWEST);
    for (const { index } of slowest) {
      const input = inputs(index);
      const bytes = requestBytes(input, host, credentials).length;
      const limit = PROCESSOR.baseMs + (PROCESSOR.byteUs * bytes) / 1_000;
      const first = await processorTime(input);
      if (first <= limit) continue;
      const ms = Math.round(Math.min(first, await processorTime(input)));
      if (ms > limit) found.push({ index, ms, bytes });
    }
    return found;
  }

  /** Of one request and what follows from it, ms. */
  async function processorTime(input: HttpInput): Promise<number> {
    const began = processorMs(server.pid) ?? 0;
    for (let times = 0; times < TIMES; times += 1) accepted += (await alone(input)).accepted;
    return ((processorMs(server.pid) ?? 0) - began) / TIMES;
  }

  async function culprits(stalls: readonly { at: number; ms: number }[], log: readonly Sent[]) {
    const found: { index: number; ms: number }[] = [];
    for (const { at, ms } of stalls) {
      const suspects = log.filter(({ from, to }) => from <= at && to >= at - ms).slice(0, SUSPECTS);
      for (const { index } of suspects) {
        if (found.some((other) => other.index === index)) continue;
        const delay = await delayOf(watch, () => alone(inputs(index)));
        if (delay > CULPRIT_MS) found.push({ index, ms: Math.round(delay) });
      }
    }
    return found;
  }

  async function kept(book: FaultBook<HttpInput>): Promise<Found[]> {
    const found: Found[] = [];
    for (const { fault, detail, index, input, times } of book.entries()) {
      const alive = server.child.exitCode === null;
      const smallest =
        alive && fault !== "stall" && fault !== "processor" ? await smaller(input, fault) : input;
      const hash = createHash("sha256").update(
        requestBytes(smallest, "", { ingest: "", local: "", read: "" }),
      );
      const name = `found-${fault.replaceAll("_", "-")}-${hash.digest("hex").slice(0, 8)}`;
      const path = keep(target, name, keptRequest(smallest, `${placeOf(input)}: ${detail}`));
      found.push({ fault, detail: `${placeOf(input)}: ${detail}`, index, times, path });
    }
    return found;
  }

  async function smaller(input: HttpInput, fault: Verdict["fault"]): Promise<HttpInput> {
    const fails = async (candidate: HttpInput) => (await alone(candidate)).fault === fault;
    if (!(await fails(input))) return input;
    let smallest = input;
    for (const header of input.headers) {
      const headers = smallest.headers.filter((other) => other !== header);
      if (await fails({ ...smallest, headers })) smallest = { ...smallest, headers };
    }
    const body = await minimiseBytes(smallest.body, (bytes) => fails({ ...smallest, body: bytes }));
    smallest = { ...smallest, body };
    const path = await minimiseBytes(
      Buffer.from(smallest.path),
      (bytes) => bytes[0] === 0x2f && fails({ ...smallest, path: bytes.toString("latin1") }),
    );
    return { ...smallest, path: path.toString("latin1") };
  }
}

/** The longest time that `/healthz` took while the work ran, ms. */
async function delayOf(watch: Watch, work: () => Promise<unknown>): Promise<number> {
  watch.longest();
  await work();
  await sleep(60);
  return watch.longest();
}

/** Method and route, without ids and parameters. */
function placeOf({ method, path }: HttpInput): string {
  const [route = ""] = path.split("?", 1);
  return `${method} ${route.split("/").slice(0, 4).join("/").slice(0, 60)}`;
}
