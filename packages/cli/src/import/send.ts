import { type SendOutcome, type SendTarget, type ServerRefusal, sendEvents } from "@plimsoll/guard/report";
import { ErrorBody } from "@plimsoll/protocol/api";
import {
  type IngestAnswer as Answer,
  IngestAnswer,
  type PlimsollEventInput,
} from "@plimsoll/protocol/events";
import { backoffMs } from "@plimsoll/protocol/pure";
import { accessHint, type Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { retryWorth, unreachable } from "../network/unreachable.ts";
import { request } from "../request.ts";
import { sleep } from "../sleep.ts";

export const BATCH = 1_000;
const TIMEOUT_MS = 60_000;
/** Longest time spent waiting for one batch. A database restarts or recovers well within it. */
const PATIENCE_MS = 10 * 60_000;
const BACKOFF = { firstMs: 500, mostMs: 60_000 };

export interface SendTotals {
  accepted: number;
  duplicates: number;
  rejected: Answer["rejected"];
}

export interface SendOptions {
  pause?: (ms: number) => Promise<void>;
  now?: () => number;
  /** 0 to 1, for jitter. */
  random?: () => number;
  /** Longest time spent waiting for one batch, ms. */
  patienceMs?: number;
  /** Ends the waiting between attempts; the current attempt is finished. */
  signal?: AbortSignal;
  /** Called before each wait with its length in ms and the reason. */
  onWait?: (ms: number, why: string) => void;
}

export function emptyTotals(): SendTotals {
  return { accepted: 0, duplicates: 0, rejected: [] };
}

export function* batches<T>(items: readonly T[], size = BATCH): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/**
 * Sends at most a thousand events and returns the server's answer, which comes after the events are stored. Waits and
 * sends again while the server is away, overloaded or out of disk: as long as Retry-After says, and at least an
 * exponential backoff with jitter. Sending twice is safe, because events have ids.
 * @throws CliError when the server refuses the events for good, or the patience is used up
 */
export async function sendBatch(
  connection: Connection,
  events: readonly PlimsollEventInput[],
  options: SendOptions = {},
): Promise<SendTotals> {
  const pause = options.pause ?? ((ms) => sleep(ms, options.signal));
  const patience = options.patienceMs ?? PATIENCE_MS;
  const target: SendTarget = {
    url: connection.url,
    timeoutMs: TIMEOUT_MS,
    waitUntilVisible: true,
    clock: options.now ?? Date.now,
    fetch: (url, init) => request(connection, url.slice(connection.url.length), init),
  };
  const lines = events.map((event) => JSON.stringify(event));
  let waited = 0;
  for (let attempt = 1; ; attempt++) {
    if (options.signal?.aborted) throw new CliError("Nothing was sent.");
    const outcome = await sendEvents(target, lines);
    if (outcome.kind === "stored") return readAnswer(outcome.answer, connection);
    if (outcome.kind === "split" && events.length > 1) return sendHalves(connection, events, options);
    const failure = failureOf(outcome, connection);
    if (outcome.kind !== "later" || outcome.error instanceof CliError) throw failure;
    // `tail` has no limit: its machine may be offline, or in a network that answers for every name.
    if (Number.isFinite(patience) && outcome.error !== undefined && retryWorth(outcome.error) !== "yes")
      throw failure;
    const wait = Math.max(
      outcome.waitMs ?? 0,
      backoffMs(attempt, BACKOFF, (options.random ?? Math.random)()),
    );
    waited += wait;
    if (waited > patience) throw failure;
    options.onWait?.(wait, failure.message);
    await pause(wait);
  }
}

async function sendHalves(
  connection: Connection,
  events: readonly PlimsollEventInput[],
  options: SendOptions,
): Promise<SendTotals> {
  const half = Math.ceil(events.length / 2);
  const totals = emptyTotals();
  addTotals(totals, await sendBatch(connection, events.slice(0, half), options));
  addTotals(totals, await sendBatch(connection, events.slice(half), options));
  return totals;
}

export function addTotals(into: SendTotals, more: SendTotals): void {
  into.accepted += more.accepted;
  into.duplicates += more.duplicates;
  into.rejected.push(...more.rejected);
}

function readAnswer(answer: unknown, connection: Connection): SendTotals {
  const checked = IngestAnswer.safeParse(answer);
  if (checked.success) return { duplicates: 0, ...checked.data };
  throw new CliError(`${connection.url} took the events but answered in a form this version does not know.`);
}

function failureOf(outcome: Exclude<SendOutcome, { kind: "stored" }>, connection: Connection): CliError {
  if (outcome.refusal !== undefined) return refusal(outcome.refusal, connection);
  const { error } = outcome as { error?: unknown };
  return error instanceof CliError ? error : unreachable(connection, error);
}

function refusal({ status, text }: ServerRefusal, connection: Connection): CliError {
  const body = ErrorBody.safeParse(parsed(text));
  const said = (body.success ? body.data.error.message : "").replace(/\.$/, "");
  const access = status === 401 || (body.success ? body.data.error.code : "") === "forbidden_scope";
  return new CliError(
    `${connection.url} refused the events: HTTP ${status}${said === "" ? "" : `, ${said}`}.`,
    access ? { hint: accessHint(connection, status) } : {},
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
