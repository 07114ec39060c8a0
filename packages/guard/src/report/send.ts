/** The result of one request. */
export type SendOutcome =
  | { kind: "stored"; rejected: number }
  /** Retry after `waitMs`, or after the backoff if it is `undefined`. */
  | { kind: "later"; waitMs: number | undefined; reason: string }
  /** The batch is too large; send it in two halves. */
  | { kind: "split" }
  /**
   * The key is wrong or lacks the scope, or the URL is not a Plimsoll server. Retrying needs a change by the user.
   */
  | { kind: "refused"; status: number; reason: string }
  /** The server will never accept this batch. */
  | { kind: "never"; status: number; reason: string };

/** Where and how to send events. */
export interface SendTarget {
  /** Base URL of the server. */
  url: string;
  key: string;
  timeoutMs: number;
  fetch: typeof fetch;
  compress: boolean;
  /** Epoch ms. */
  clock: () => number;
}

/** Sends one batch of NDJSON. Never throws. */
export async function send(target: SendTarget, lines: readonly string[]): Promise<SendOutcome> {
  const text = lines.join("\n");
  try {
    const packed = target.compress && text.length > 1_024 ? await gzip(text) : undefined;
    const response = await target.fetch(`${target.url.replace(/\/+$/, "")}/api/v1/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${target.key}`,
        "content-type": "application/x-ndjson",
        ...(packed === undefined ? {} : { "content-encoding": "gzip" }),
      },
      body: packed ?? text,
      signal: AbortSignal.timeout(target.timeoutMs),
    });
    return await outcomeOf(response, target.clock());
  } catch (error) {
    return {
      kind: "later",
      waitMs: undefined,
      reason: error instanceof Error ? error.message : String(error),
    };
  }
}

async function outcomeOf(response: Response, now: number): Promise<SendOutcome> {
  const { status } = response;
  if (response.ok) {
    const answer = (await response.json().catch(() => ({}))) as { rejected?: unknown };
    return { kind: "stored", rejected: Array.isArray(answer.rejected) ? answer.rejected.length : 0 };
  }
  const reason = (await response.text().catch(() => "")).slice(0, 300);
  if (status === 413) return { kind: "split" };
  // A proxy may answer 404 while the server is being replaced, so keep the events.
  if ([401, 403, 404, 405].includes(status)) return { kind: "refused", status, reason };
  if (status === 429 || status === 408 || status >= 500) {
    const waitMs = retryAfter(response.headers.get("retry-after"), now);
    return { kind: "later", waitMs, reason: `HTTP ${status} ${reason}` };
  }
  return { kind: "never", status, reason };
}

/**
 * Parses a Retry-After header of seconds or an HTTP date. Returns ms from `now`, or `undefined` without a valid
 * header.
 */
export function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

async function gzip(text: string): Promise<ArrayBuffer | undefined> {
  if (typeof CompressionStream === "undefined") return undefined;
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
