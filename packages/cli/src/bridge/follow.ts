import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { PolicyAnswer } from "@plimsoll/protocol/api";
import type { Connection } from "../connection.ts";
import { Acknowledgements } from "../policy/acknowledge.ts";
import { fetchPolicy } from "../policy/fetch-policy.ts";
import { followPolicy } from "../policy/follow-policy.ts";
import { sleep } from "../sleep.ts";
import { applyPolicy, type BridgeReport, type BridgeTarget } from "./harness-bridge.ts";

/** How often the settings, the hook and the processes are checked, in ms. A watcher reports most edits at once. */
const CHECK_MS = 5_000;
const SETTLE_MS = 100;
/** How long a command that runs once waits for the server, in ms. */
const ONCE_PATIENCE_MS = 10_000;

export interface FollowOptions {
  /** The instance, such as `claude-code@host-1`. */
  harness: string;
  now: () => number;
  /** Called with each report that differs from the last one. */
  onReport: (report: BridgeReport, policy: PolicyAnswer) => void;
  onTrouble: (message: string) => void;
  checkMs?: number;
}

/** Reads the policy, writes it into the settings and acknowledges it, once. */
export async function bridgeOnce(
  connection: Connection,
  target: BridgeTarget,
  { harness, now, onReport }: FollowOptions,
): Promise<BridgeReport | undefined> {
  const policy = await fetchPolicy(connection, { harness, model: target.model });
  if (policy.generation === 0) return undefined;
  const report = await applyPolicy(target, policy, now);
  onReport(report, policy);
  const acknowledgements = new Acknowledgements(connection, harness, now);
  acknowledgements.offer(policy, report);
  await acknowledgements.send(ONCE_PATIENCE_MS);
  return report;
}

/** Does so for each policy until the signal aborts, and reports when the harness has read it or somebody edits the settings. */
export async function bridgeAlways(
  connection: Connection,
  target: BridgeTarget,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const { harness, now, onTrouble, checkMs = CHECK_MS } = options;
  const acknowledgements = new Acknowledgements(connection, harness, now);
  let policy: PolicyAnswer | undefined;
  const step = serial(async () => {
    // A newer policy may arrive while this one is written.
    const current = policy;
    if (current === undefined || current.generation === 0 || signal.aborted) return;
    const report = await applyPolicy(target, current, now);
    if (acknowledgements.offer(current, report)) options.onReport(report, current);
  });
  const stopped = new AbortController();
  const either = AbortSignal.any([signal, stopped.signal]);
  try {
    await Promise.all([
      followPolicy(
        connection,
        { harness, model: target.model },
        {
          signal: either,
          onTrouble,
          onPolicy: async (newest) => {
            policy = newest;
            await step();
          },
        },
      ),
      acknowledgements.sendAlways(either, onTrouble),
      checkOften(target, step, checkMs, either),
    ]);
  } finally {
    stopped.abort();
  }
}

/** Runs a step after each edit of the settings file, and now and then, because watchers miss edits on some file systems. */
async function checkOften(
  { path }: BridgeTarget,
  step: () => Promise<void>,
  checkMs: number,
  signal: AbortSignal,
): Promise<void> {
  let wake: (() => void) | undefined;
  let watcher: FSWatcher | undefined;
  const name = basename(path);
  while (!signal.aborted) {
    watcher ??= watchFolder(dirname(path), (changed) => {
      if (changed === null || changed === name) wake?.();
    });
    const woken = new AbortController();
    wake = () => woken.abort();
    await sleep(checkMs, AbortSignal.any([signal, woken.signal]));
    if (woken.signal.aborted) await sleep(SETTLE_MS, signal);
    await step();
    if ((await stat(dirname(path)).catch(() => undefined)) === undefined) {
      watcher?.close();
      watcher = undefined;
    }
  }
  watcher?.close();
}

function watchFolder(folder: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => onChange(name));
    // The poll goes on without the watcher.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** Runs one call at a time, in order. */
function serial(run: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(run, run);
    return last;
  };
}
