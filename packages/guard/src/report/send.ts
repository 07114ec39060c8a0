import { generationIn, refusalOf, retryAfter, type ServerRefusal } from "../http/answers.ts";

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
  // Called as a method, the fetch of browsers and Workers throws.
  const { fetch } = target;
  try {
    const packed = text.length > 1_024 ? await gzip(text) : undefined;
    const response = await fetch(`${target.url.replace(/\/+$/, "")}/api/v1/events`, {
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

async function outcomeOf(response: Response, now: number): Promise<SendOutcome> {
  const { status } = response;
  if (response.ok) return { kind: "stored", answer: await response.json().catch(() => undefined) };
  const refusal = await refusalOf(response);
  if (status === 413) return { kind: "split", refusal };
  // A proxy may answer 404 while the server is being replaced, so keep the events.
  if ([401, 403, 404, 405].includes(status)) return { kind: "refused", refusal };
  if (status === 429 || status === 408 || status >= 500) {
    return { kind: "later", waitMs: retryAfter(response, now), refusal };
  }
  return { kind: "never", refusal };
}

async function gzip(text: string): Promise<ArrayBuffer | undefined> {
  if (typeof CompressionStream === "undefined") return undefined;
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
