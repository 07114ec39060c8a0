import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { KeptRecording, keep, keptBytes, readCorpus } from "./corpus.ts";
import { FaultBook } from "./fault-book.ts";
import type { Fault } from "./judge.ts";
import { growthOf, residentMib } from "./memory.ts";
import { minimise, minimiseBytes } from "./minimise.ts";
import { judgeRecording, type Recording, readRecording, recordingAt, recordingOf } from "./recordings.ts";
import { count, type Found, type TargetReport } from "./report.ts";
import { startWorker } from "./worker.ts";

/** What a worker reads: input `first` and every `step`th one after it. */
export interface RecordingsWork {
  seed: number;
  first: number;
  step: number;
  /** Epoch ms. */
  deadline: number;
  /** Holds the number of the input that is read now. */
  shared: SharedArrayBuffer;
}

export interface RecordingFault {
  index: number;
  fault: Fault;
  detail: string;
}

/** Milliseconds without progress after which a reader counts as hung. */
const HANG_MS = 30_000;
const SAMPLE_MS = 500;
const PROGRESS_MS = 5_000;

/** Feeds mutated recordings to the readers of the command line, in threads that can be ended. */
export async function fuzzRecordings(options: {
  seed: number;
  duration: number;
  note: (text: string) => void;
}): Promise<TargetReport> {
  const { seed, duration, note } = options;
  const kept = readCorpus("recordings", KeptRecording).map(([, recording]) => recordingOf(recording));
  const step = Math.max(1, availableParallelism());
  const faults = new FaultBook<Recording>();
  const memory: number[] = [];
  const currents = Array.from({ length: step }, () => new SharedArrayBuffer(4));
  const problems: string[] = [];
  let events = 0;

  const began = Date.now();
  const deadline = began + duration;
  const done = () => currents.reduce((sum, shared) => sum + Math.floor(new Int32Array(shared)[0]! / step), 0);
  const sampler = setInterval(() => memory.push(residentMib(process.pid) ?? 0), SAMPLE_MS);
  const progress = setInterval(
    () =>
      note(
        `recordings: ${count(done())} inputs, ${count(Math.round((done() * 1_000) / (Date.now() - began)))}/s`,
      ),
    PROGRESS_MS,
  );
  const add = ({ index, fault, detail }: RecordingFault) =>
    faults.add(fault, detail, index, recordingAt(seed, index, kept));
  try {
    await Promise.all(currents.map((shared, first) => work({ seed, first, step, deadline, shared })));
  } finally {
    clearInterval(sampler);
    clearInterval(progress);
  }
  const growth = growthOf(memory);
  const medians = growth.medians.map((mib) => Math.round(mib));
  if (growth.grows) problems.push(`memory keeps growing: ${medians.join(", ")} MiB`);
  const seconds = (Date.now() - began) / 1_000;
  return {
    target: "recordings",
    seed,
    inputs: done(),
    seconds,
    outcomes: new Map([["read", done()]]),
    found: await keepAll(faults),
    problems,
    measured: [`${count(events)} events read`, `memory by quarter ${medians.join(", ")} MiB`],
  };

  /** Goes on behind an input that hangs, in a new thread. */
  async function work(job: RecordingsWork): Promise<void> {
    const current = new Int32Array(job.shared);
    current[0] = job.first;
    const worker = startWorker("recordings-worker.ts", job);
    const hungAt = await new Promise<number | undefined>((resolve, reject) => {
      let seen = -1;
      let since = Date.now();
      const timer = setInterval(() => {
        if (current[0] !== seen) {
          seen = current[0]!;
          since = Date.now();
        } else if (Date.now() - since > HANG_MS) {
          resolve(seen);
        }
      }, 1_000);
      worker.once("message", (result: { faults: RecordingFault[]; events: number }) => {
        for (const fault of result.faults) add(fault);
        events += result.events;
        resolve(undefined);
      });
      worker.once("error", reject).once("exit", () => clearInterval(timer));
    });
    await worker.terminate();
    if (hungAt === undefined) return;
    add({ index: hungAt, fault: "no_answer", detail: `the reader did not end within ${HANG_MS} ms` });
    if (Date.now() < deadline) await work({ ...job, first: hungAt + job.step });
  }
}

async function keepAll(book: FaultBook<Recording>): Promise<Found[]> {
  const found: Found[] = [];
  for (const { fault, detail, index, input, times } of book.entries()) {
    const smallest = fault === "no_answer" || fault === "stall" ? input : await smaller(input, fault);
    const hash = createHash("sha256");
    for (const { content } of smallest.files) hash.update(content);
    const name = `found-${fault.replaceAll("_", "-")}-${hash.digest("hex").slice(0, 8)}`;
    const files = smallest.files.map(({ path, content }) => ({ path, content: keptBytes(content) }));
    const path = keep("recordings", name, { about: detail, format: smallest.format, files });
    found.push({ fault, detail, index, times, path });
  }
  return found;
}

/** Without the files, lines and bytes that the fault does not need. */
async function smaller(recording: Recording, fault: Fault): Promise<Recording> {
  const { format } = recording;
  const fails = async (files: Recording["files"]) => (await readRecording({ format, files })).fault === fault;
  if ((await judgeRecording(recording)).fault !== fault) return recording;
  let files = [...(await minimise(recording.files, (left) => fails([...left])))];
  for (const file of [...files]) {
    const others = (content: Buffer) => files.map((other) => (other === file ? { ...file, content } : other));
    const lines = file.content.toString("latin1").split("\n");
    const fewer = await minimise(lines, (left) => fails(others(Buffer.from(left.join("\n"), "latin1"))));
    const content = await minimiseBytes(Buffer.from(fewer.join("\n"), "latin1"), (bytes) =>
      fails(others(bytes)),
    );
    files = others(content);
  }
  return { format, files };
}
