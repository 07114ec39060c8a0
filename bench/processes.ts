import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Job, LoadPhase, LoadReport } from "./load-process.ts";

/** Milliseconds a process may take to stop before it is killed. */
const STOP_LIMIT = 30_000;

type Closer = () => Promise<unknown>;
const closers = new Set<Closer>();

/**
 * Registers `close` to run when the benchmark is interrupted.
 * @returns a function that runs `close` once and always returns the same promise
 */
export function owned(close: Closer): Closer {
  let closing: Promise<unknown> | undefined;
  const once = () => {
    closing ??= close().finally(() => closers.delete(once));
    return closing;
  };
  closers.add(once);
  return once;
}

/** Runs the registered functions that have not run yet, newest first. */
export async function closeAll(): Promise<void> {
  for (const close of [...closers].reverse()) await close().catch(() => {});
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = new AbortController();
  const late = sleep(STOP_LIMIT, "late", { signal: timer.signal }).catch(() => undefined);
  if ((await Promise.race([ended, late])) === "late") child.kill("SIGKILL");
  timer.abort();
  await ended;
}

/** Starts processes that compute without end. Returns what ends them. */
export function keepBusy(processes: number): Closer {
  const computing = Array.from({ length: processes }, () =>
    spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
  );
  return owned(async () => {
    for (const one of computing) one.kill("SIGKILL");
  });
}

/** Runs a file of this folder as a process. `hello` is its first message. */
async function forkOwn<T>(file: string): Promise<{ child: ChildProcess; hello: T; close: Closer }> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const close = owned(() => endProcess(child));
  return { child, hello: await messageOf<T>(child), close };
}

async function messageOf<T>(child: ChildProcess): Promise<T> {
  const gone = once(child, "exit").then(() => {
    throw new Error("A process of the benchmark exited unexpectedly.");
  });
  gone.catch(() => {});
  const [message] = await Promise.race([once(child, "message"), gone]);
  return message as T;
}

/**
 * Loads a server from another process. Calls `phase` when the requests are made, and when the measured part begins and ends.
 * @param start for a job with a shift: when it may begin
 */
export async function sendLoad(
  job: Job,
  phase: (phase: LoadPhase) => void = () => {},
  start?: Promise<unknown>,
): Promise<LoadReport> {
  const { child, close } = await forkOwn<"ready">("load-process.ts");
  try {
    child.send(job);
    for (;;) {
      const message = await messageOf<LoadPhase | { report?: LoadReport; error?: string }>(child);
      if (typeof message === "string") {
        phase(message);
        if (message === "made" && start !== undefined) void start.then(() => child.send("start"));
      } else if (message.report !== undefined) return message.report;
      else throw new Error(`The load generator failed: ${message.error}`);
    }
  } finally {
    await close();
  }
}

export async function startEcho(): Promise<{ port: number; close: Closer }> {
  const { hello, close } = await forkOwn<number>("echo-process.ts");
  return { port: hello, close };
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  if (process.platform === "linux") {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * 1024;
}
