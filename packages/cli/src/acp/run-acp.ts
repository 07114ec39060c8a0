import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { basename } from "node:path";
import type { Readable, Transform, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Reporter } from "@plimsoll/guard/report";
import { fitName, parseJson } from "@plimsoll/harnesses/recordings";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { CliError } from "../errors.ts";
import { machineOf } from "../origin/machine.ts";
import { isSendable } from "../sendable.ts";
import { INITIALIZE_MARK, optIn, toldOfCompaction } from "./compaction-opt-in.ts";
import { lineFilter } from "./line-filter.ts";
import {
  type CompactedSession,
  NO_SESSIONS,
  readMessage,
  USAGE_MARKS,
  type UsageSample,
} from "./session-usage.ts";

/** The streams of the client, and what reports. */
export interface AcpContext {
  input: Readable;
  output: Writable;
  reporter: Pick<Reporter, "record" | "close">;
  /** Harness instance of the events; undefined for the name of the agent and of this host. */
  harness: string | undefined;
  /** Whether to ask the agent for its compactions on behalf of a client that does not know them. */
  asksForCompactions: boolean;
  now: () => number;
}

/** Longest time for the last events after the agent ended, ms. */
const CLOSE_MS = 1_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs an agent of the Agent Client Protocol. Passes all bytes on as they are, with back-pressure, and signals too, but for messages
 * of compactions that the client did not ask for. Reports the levels and compactions that the agent sends.
 * @returns the exit code of the agent; 128 and the number of the signal that ended it
 * @throws CliError if the agent cannot be started
 */
export async function runAcp(
  [command = "", ...words]: readonly string[],
  context: AcpContext,
): Promise<number> {
  const { input, output, reporter } = context;
  const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
  const { fromClient, fromAgent } = filters(usageReader(command, context), context);
  const pass = SIGNALS.map((signal) => {
    const handler = () => {
      if (agent.exitCode === null && agent.signalCode === null) return void agent.kill(signal);
      // A process that the agent left behind holds its output open.
      agent.stdout!.destroy();
      fromAgent.end();
    };
    return [signal, handler] as const;
  });
  for (const [signal, handler] of pass) process.on(signal, handler);
  try {
    const ended = endOf(agent, command);
    // An agent that ended, or a client that left, closes its end.
    agent.stdin!.on("error", () => {});
    input.on("error", () => fromClient.end());
    input.pipe(fromClient).pipe(agent.stdin!);
    agent.stdout!.pipe(fromAgent).pipe(output, { end: false });
    output.on("error", () => {
      agent.stdout!.destroy();
      fromAgent.destroy();
    });
    const passed = finished(fromAgent).catch(() => {});
    const code = await ended;
    await passed;
    return code;
  } finally {
    for (const [signal, handler] of pass) process.off(signal, handler);
    input.unpipe();
    input.destroy();
    await reporter.close(CLOSE_MS);
  }
}

/** Once the agent has ended and all that it wrote is read. */
function endOf(agent: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    agent.on("error", (cause) => {
      // Also if a signal cannot be sent.
      if (agent.pid === undefined)
        reject(
          new CliError(`The agent ${JSON.stringify(command)} cannot be started: ${cause.message}`, { cause }),
        );
    });
    agent.on("close", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}

function filters(
  read: (message: unknown) => void,
  { asksForCompactions }: AcpContext,
): { fromClient: Transform; fromAgent: Transform } {
  let hasAsked = false;
  const fromClient = lineFilter([INITIALIZE_MARK, ...USAGE_MARKS.client], (line) => {
    const message = parseJson(line);
    read(message);
    const asking = asksForCompactions ? optIn(message) : undefined;
    const text = asking && jsonOf(asking);
    if (text === undefined) return "pass";
    hasAsked = true;
    return { replaceBy: text };
  });
  const fromAgent = lineFilter([...USAGE_MARKS.agent], (line) => {
    const message = parseJson(line);
    read(message);
    return hasAsked && toldOfCompaction(message) ? "drop" : "pass";
  });
  return { fromClient, fromAgent };
}

/** Undefined for what is nested too deep to be written. */
function jsonOf(message: object): string | undefined {
  try {
    return JSON.stringify(message);
  } catch {
    return undefined;
  }
}

function usageReader(command: string, context: AcpContext): (message: unknown) => void {
  let sessions = NO_SESSIONS;
  let count = 0;
  return (message) => {
    const read = readMessage(sessions, message);
    sessions = read.sessions;
    const harness = context.harness ?? instanceOf(sessions.agent ?? basename(command));
    const send = (event: PlimsollEventInput) =>
      isSendable(event) && context.reporter.record({ ...event, machine: machineOf() });
    if (read.compacted !== undefined) send(compactedEvent(read.compacted, harness, context.now()));
    if (read.sample === undefined) return;
    count += 1;
    send(levelTurn(read.sample, harness, context.now(), count));
  };
}

/** Longest name of an instance, in characters. */
const LONGEST_INSTANCE = 128;

/** Families of agents that name themselves otherwise. */
const FAMILIES: ReadonlyMap<string, string> = new Map([
  ["kimi-code-cli", "kimi"],
  ["-mistralai/mistral-vibe", "mistral-vibe"],
]);

/** An agent may name itself as people do, such as OpenCode. Other sources write families in small letters. */
function instanceOf(agent: string): string {
  const name = agent
    .toLowerCase()
    .replace(/[@\s]+/g, "-")
    .slice(0, 64);
  return `${FAMILIES.get(name) ?? name}@${machineOf()}`.slice(0, LONGEST_INSTANCE);
}

/** The protocol names no levels: those are of the calls before and after it. */
function compactedEvent({ session, id }: CompactedSession, harness: string, at: number): PlimsollEventInput {
  return { type: "compacted", id: fitName(`acp/${id}`, 128), at, harness, session, trigger: "auto" };
}

/** @param count of turns, which makes its id unique in this process */
export function levelTurn(
  { session, model, tokens, windowTokens, costUsd }: UsageSample,
  harness: string,
  at: number,
  count: number,
): PlimsollEventInput {
  return {
    type: "turn",
    witness: "acp",
    id: `acp/${at}/${process.pid}/${count}`,
    at,
    harness,
    session,
    model: model.slice(0, 200),
    // The protocol reports the level alone: neither the cached part nor the output.
    usage: { input_tokens: tokens, basis: "inclusive" },
    ...(windowTokens !== undefined && { context_window: windowTokens }),
    ...(costUsd !== undefined && { cost_usd: costUsd }),
  };
}
