import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { IngestAnswer as Answer, PlimsollEventInput } from "@plimsoll/protocol";
import { ErrorBody, IngestAnswer } from "@plimsoll/protocol";
import { unreachable } from "../client.ts";
import type { Connection } from "../connection.ts";
import { accessHint, authorization } from "../connection.ts";
import { CliError } from "../errors.ts";
import { sleep } from "../sleep.ts";

const compress = promisify(gzip);

export const BATCH = 1_000;
const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export interface Totals {
  accepted: number;
  duplicates: number;
  rejected: Answer["rejected"];
}

export interface SendOptions {
  pause?: (ms: number) => Promise<void>;
  now?: () => number;
  attempts?: number;
  /** Ends the waiting between attempts; the attempt under way is finished. */
  signal?: AbortSignal;
  onWait?: (ms: number, why: string) => void;
}

export function emptyTotals(): Totals {
  return { accepted: 0, duplicates: 0, rejected: [] };
}

export function* batches<T>(items: readonly T[], size = BATCH): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/**
 * Sends at most a thousand events and gives the server's answer, which it gives only after they are stored. Waits as
 * long as the server asks, and sends again what may not have arrived: ids make that safe.
 */
export async function sendBatch(
  connection: Connection,
  events: readonly PlimsollEventInput[],
  options: SendOptions = {},
): Promise<Totals> {
  const pause = options.pause ?? ((ms) => sleep(ms, options.signal));
  const now = options.now ?? Date.now;
  const body = await compress(JSON.stringify(events));
  let failure: CliError | undefined;
  for (let attempt = 0; attempt < (options.attempts ?? ATTEMPTS); attempt += 1) {
    if (options.signal?.aborted) break;
    const backoff = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
    let response: Response;
    try {
      response = await fetch(`${connection.url}/api/v1/events`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-encoding": "gzip",
          prefer: "wait",
          ...authorization(connection),
        },
        body,
        signal: AbortSignal.timeout(60_000),
      });
    } catch (error) {
      failure = unreachable(connection, error);
      options.onWait?.(backoff, failure.message);
      await pause(backoff);
      continue;
    }
    if (response.status === 200) return readAnswer(await response.json().catch(() => undefined), connection);
    if (response.status === 413 && events.length > 1) {
      await response.body?.cancel();
      return sendHalves(connection, events, options);
    }
    failure = await refusal(response, connection);
    if (![429, 502, 503, 504].includes(response.status)) throw failure;
    const wait = Math.max(retryAfter(response.headers.get("retry-after"), now()) ?? backoff, 0);
    options.onWait?.(wait, failure.message);
    await pause(wait);
  }
  throw failure ?? new CliError("Nothing could be sent.");
}

async function sendHalves(
  connection: Connection,
  events: readonly PlimsollEventInput[],
  options: SendOptions,
): Promise<Totals> {
  const half = Math.ceil(events.length / 2);
  const totals = emptyTotals();
  addTotals(totals, await sendBatch(connection, events.slice(0, half), options));
  addTotals(totals, await sendBatch(connection, events.slice(half), options));
  return totals;
}

export function addTotals(into: Totals, more: Totals): void {
  into.accepted += more.accepted;
  into.duplicates += more.duplicates;
  into.rejected.push(...more.rejected);
}

function readAnswer(answer: unknown, connection: Connection): Totals {
  const checked = IngestAnswer.safeParse(answer);
  if (checked.success) return { duplicates: 0, ...checked.data };
  throw new CliError(`${connection.url} took the events but answered in a form this version does not know.`);
}

async function refusal(response: Response, connection: Connection): Promise<CliError> {
  const body = ErrorBody.safeParse(await response.json().catch(() => undefined));
  const said = body.success ? body.data.error.message : response.statusText;
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
