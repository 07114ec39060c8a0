import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { AnswerParser } from "./http-answers.ts";
import type { Probe } from "./watch.ts";

const EVERY_MS = 50;
const TICK_MS = 10;

const { port } = workerData as { port: number };
const request = Buffer.from(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);

let socket: Socket | undefined;
let parser = new AnswerParser();
let askedAt: number | undefined;
/** The longest time that this thread itself did not run since it asked: no fault of the server. */
let ownGap = 0;
let lastTick = performance.now();

function ask(): void {
  if (socket === undefined) {
    parser = new AnswerParser();
    socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.on("data", hear).on("error", () => {});
    socket.on("close", () => {
      if (askedAt !== undefined) tell(true);
      socket = undefined;
    });
  }
  askedAt = performance.now();
  ownGap = 0;
  socket.write(request);
}

function hear(chunk: Buffer): void {
  parser.push(chunk);
  const answer = parser.next("GET");
  if (answer !== undefined) tell(answer.status !== 200);
}

function tell(failed: boolean): void {
  const ms = Math.max(0, performance.now() - askedAt! - ownGap);
  askedAt = undefined;
  parentPort!.postMessage({ ms, failed, at: Date.now() } satisfies Probe);
}

setInterval(() => {
  const now = performance.now();
  ownGap = Math.max(ownGap, now - lastTick - TICK_MS);
  lastTick = now;
}, TICK_MS);
setInterval(() => {
  if (askedAt === undefined) ask();
}, EVERY_MS);
