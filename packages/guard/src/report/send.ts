/** What a server answered instead of taking the events. */
export interface ServerRefusal {
  status: number;
  /** The beginning of the answer's body. */
  text: string;
}

/** The result of one request. */
export type SendOutcome =
  /** `answer`: the server's body, if it was JSON. */
  | { kind: "stored"; answer: unknown }
  /** Retry after `waitMs`, or after the backoff if it is `undefined`. `error`: why there was no answer. */
  | { kind: "later"; waitMs: number | undefined; refusal?: ServerRefusal; error?: unknown }
  /** The batch is too large; send it in two halves. */
  | { kind: "split"; refusal: ServerRefusal }
  /**
   * The key is wrong or lacks the scope, or the URL is not a Plimsoll server. Retrying needs a change by the user.
   */
  | { kind: "refused"; refusal: ServerRefusal }
  /** The server will never accept this batch. */
  | { kind: "never"; refusal: ServerRefusal };

/** Where and how to send events. */
export interface SendTarget {
  /** Base URL of the server. */
  url: string;
  /** Without one, `fetch` authorizes the request. */
  key?: string;
  timeoutMs: number;
  fetch(url: string, init: SendRequest): Promise<Response>;
  /** Answer only when the events are visible, with the number of duplicates. */
  waitUntilVisible?: boolean;
  /** Receives the newest generation of the project's policy, if an answer names it. */
  onPolicyGeneration?: (generation: number) => void;
  /** Epoch ms. */
  clock(): number;
}

/** One request with events. */
export interface SendRequest extends RequestInit {
  headers: Record<string, string>;
}

/**
 * Sends one batch of events, each as a line of JSON. Never throws.
 * @example
 * const target = { url: "http://127.0.0.1:4747", key, timeoutMs: 10_000, fetch, clock: Date.now };
 * const outcome = await sendEvents(target, [JSON.stringify(event)]);
 */
export async function sendEvents(target: SendTarget, lines: readonly string[]): Promise<SendOutcome> {
  const text = lines.join("\n");
  try {
    const packed = text.length > 1_024 ? await gzip(text) : undefined;
    const response = await target.fetch(`${target.url.replace(/\/+$/, "")}/api/v1/events`, {
      method: "POST",
      headers: {
        "content-type": "application/x-ndjson",
        ...(target.key === undefined ? {} : { authorization: `Bearer ${target.key}` }),
        ...(target.waitUntilVisible === true ? { prefer: "wait" } : {}),
        ...(packed === undefined ? {} : { "content-encoding": "gzip" }),
      },
      body: packed ?? text,
      signal: AbortSignal.timeout(target.timeoutMs),
    });
    const generation = generationIn(response.headers);
    if (generation !== undefined) target.onPolicyGeneration?.(generation);
    return await outcomeOf(response, target.clock());
  } catch (error) {
    return { kind: "later", waitMs: undefined, error };
  }
}

/** The newest generation of the project's policy that an answer names. */
export function generationIn(headers: Headers): number | undefined {
  const text = headers.get("plimsoll-policy-generation") ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const MOST_TEXT_CHARS = 10_000;

async function outcomeOf(response: Response, now: number): Promise<SendOutcome> {
  const { status } = response;
  if (response.ok) return { kind: "stored", answer: await response.json().catch(() => undefined) };
  const refusal = { status, text: (await response.text().catch(() => "")).slice(0, MOST_TEXT_CHARS) };
  if (status === 413) return { kind: "split", refusal };
  // A proxy may answer 404 while the server is being replaced, so keep the events.
  if ([401, 403, 404, 405].includes(status)) return { kind: "refused", refusal };
  if (status === 429 || status === 408 || status >= 500) {
    return { kind: "later", waitMs: retryAfter(response.headers.get("retry-after"), now), refusal };
  }
  return { kind: "never", refusal };
}

/**
 * Parses a Retry-After header of seconds or an HTTP date. Returns ms from `now`, or `undefined` without a valid
 * header.
 */
export function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 60_000;

/**
 * Time to wait after a failure, in ms: doubles with each, up to a minute. Jitter keeps many harnesses from coming back at the
 * same moment.
 * @param failures in a row, from 1
 * @param random from 0 to 1
 * @example
 * const wait = backoffMs(3); // 1,000 to 2,000 ms
 */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const longest = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(16, failures - 1));
  return longest * (0.5 + random() / 2);
}

async function gzip(text: string): Promise<ArrayBuffer | undefined> {
  if (typeof CompressionStream === "undefined") return undefined;
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
