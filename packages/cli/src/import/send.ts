import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { IngestAnswer as Answer, PlimsollEventInput } from "@plimsoll/protocol";
import { ErrorBody, IngestAnswer } from "@plimsoll/protocol";
import { unreachable } from "../client.ts";
import type { Connection } from "../connection.ts";
import { accessHint } from "../connection.ts";
import { CliError } from "../errors.ts";
import { request } from "../request.ts";
import { sleep } from "../sleep.ts";

const compress = promisify(gzip);

export const BATCH = 1_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** Longest time spent waiting for one batch. A database restarts or recovers well within it. */
const PATIENCE_MS = 10 * 60_000;

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
  const now = options.now ?? Date.now;
  const patience = options.patienceMs ?? PATIENCE_MS;
  const body = await compress(JSON.stringify(events));
  let waited = 0;
  for (let attempt = 0; ; attempt += 1) {
    if (options.signal?.aborted) throw new CliError("Nothing was sent.");
    let failure: CliError;
    let asked: number | undefined;
    try {
      const response = await request(connection, "/api/v1/events", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-encoding": "gzip",
          prefer: "wait",
        },
        body,
        signal: AbortSignal.timeout(60_000),
      });
      if (response.status === 200)
        return readAnswer(await response.json().catch(() => undefined), connection);
      if (response.status === 413 && events.length > 1) {
        await response.body?.cancel();
        return sendHalves(connection, events, options);
      }
      failure = await refusal(response, connection);
      if (!mayPass(response.status)) throw failure;
      asked = retryAfter(response.headers.get("retry-after"), now());
    } catch (error) {
      if (error instanceof CliError) throw error;
      failure = unreachable(connection, error);
    }
    const wait = Math.max(asked ?? 0, backoff(attempt, options.random));
    waited += wait;
    if (waited > patience) throw failure;
    options.onWait?.(wait, failure.message);
    await pause(wait);
  }
}

/** The statuses after which the same request may succeed, as the guard's reporter treats them. */
const mayPass = (status: number) => status === 408 || status === 429 || status >= 500;

/** Doubles with each attempt. Jitter keeps many clients from coming back at the same moment. */
function backoff(attempt: number, random = Math.random): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(16, attempt)) * (0.5 + random() / 2);
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

async function refusal(response: Response, connection: Connection): Promise<CliError> {
  const body = ErrorBody.safeParse(await response.json().catch(() => undefined));
  const said = (body.success ? body.data.error.message : response.statusText).replace(/\.$/, "");
  const { status } = response;
  const access = status === 401 || (body.success ? body.data.error.code : "") === "forbidden_scope";
  return new CliError(
    `${connection.url} refused the events: HTTP ${status}${said === "" ? "" : `, ${said}`}.`,
    access ? { hint: accessHint(connection, status) } : {},
  );
}

/** Seconds, or an HTTP date; in milliseconds from now. */
export function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
