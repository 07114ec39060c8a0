import { parentPort, workerData } from "node:worker_threads";
import { KeptRecording, readCorpus } from "./corpus.ts";
import { judgeRecording, recordingAt, recordingOf } from "./recordings.ts";
import type { RecordingFault, RecordingsWork } from "./recordings-target.ts";

const { seed, first, step, deadline, shared } = workerData as RecordingsWork;
const current = new Int32Array(shared);
const kept = readCorpus("recordings", KeptRecording).map(([, recording]) => recordingOf(recording));
const faults: RecordingFault[] = [];
let events = 0;
let index = first;

for (; Date.now() < deadline; index += step) {
  Atomics.store(current, 0, index);
  const verdict = await judgeRecording(recordingAt(seed, index, kept));
  events += verdict.events;
  if (verdict.fault !== undefined) faults.push({ index, fault: verdict.fault, detail: verdict.detail ?? "" });
}
parentPort!.postMessage({ faults, events });
