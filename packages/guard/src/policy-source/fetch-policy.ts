import { generationIn, retryAfter } from "../report/send.ts";
import { MOST_CHARACTERS } from "./read-answer.ts";

/** How to reach the server. */
export interface ServerAccess {
  url: string;
  key: string | (() => string);
  fetch: typeof fetch;
  timeoutMs: number;
  /** Epoch ms. */
  clock: () => number;
}

/** The result of asking for the policy. */
export type Fetched =
  | { kind: "answer"; text: string; newest: number | undefined }
  | { kind: "unchanged"; newest: number | undefined }
  /** `waitMs`: what the server asked for. `refused`: the key is wrong or may not read policies. */
  | { kind: "failed"; waitMs: number | undefined; refused: boolean; message: string };

/** Asks for the policy. Never throws. */
export async function fetchPolicy(
  access: ServerAccess,
  subject: { harness: string; model: string | undefined },
  tag: string | undefined,
  stopped: AbortSignal,
): Promise<Fetched> {
  const query = new URLSearchParams({ harness: subject.harness });
  if (subject.model !== undefined) query.set("model", subject.model);
  try {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(access.timeoutMs)]);
    const headers = {
      ...authorization(access),
      ...(tag === undefined ? {} : { "if-none-match": `"${tag}"` }),
    };
    const response = await access.fetch(`${base(access)}/api/v1/policy?${query}`, { headers, signal });
    if (response.status === 304) return { kind: "unchanged", newest: generationIn(response.headers) };
    if (response.status !== 200) return await failure(response, access.clock());
    return { kind: "answer", text: await textOf(response), newest: generationIn(response.headers) };
  } catch (error) {
    return { kind: "failed", waitMs: undefined, refused: false, message: messageOf(error) };
  }
}

/** How a stream ended. */
export interface StreamEnd {
  opened: boolean;
  waitMs: number | undefined;
  refused: boolean;
}

/**
 * Reads the live stream until it ends or says nothing for `silentMs`. Never throws.
 * @param hear called when the stream opened, with `undefined`, and then with the generation of each notice
 */
export async function readStream(
  access: ServerAccess,
  silentMs: number,
  stopped: AbortSignal,
  hear: (generation: number | undefined) => void,
): Promise<StreamEnd> {
  const silent = new AbortController();
  const signal = AbortSignal.any([stopped, silent.signal]);
  let timer = idle(access.timeoutMs, silent);
  let opened = false;
  try {
    const headers = { ...authorization(access), accept: "text/event-stream" };
    const response = await access.fetch(`${base(access)}/api/v1/live?only=policy`, { headers, signal });
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    if (response.status !== 200 || !isStream || response.body === null) {
      const { waitMs, refused } = await failure(response, access.clock());
      return { opened, waitMs, refused };
    }
    opened = true;
    hear(undefined);
    const lines = lineReader((line) => {
      const generation = noticeIn(line);
      if (generation !== undefined) hear(generation);
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      clearTimeout(timer);
      timer = idle(silentMs, silent);
      const { done, value } = await reader.read();
      if (done) break;
      lines(value);
    }
  } catch {
    // A stream that breaks is a stream that ended.
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
  return { opened, waitMs: undefined, refused: false };
}

/** Splits text into lines. A line without an end is cut, so that a hostile server cannot fill the memory. */
function lineReader(take: (line: string) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop()!.slice(0, MOST_CHARACTERS);
    for (const line of lines) take(line);
  };
}

/** The generation that a line of the stream tells of. All other lines mean nothing here. */
function noticeIn(line: string): number | undefined {
  if (!line.startsWith("data:")) return undefined;
  try {
    const { type, generation } = JSON.parse(line.slice(5)) as { type?: unknown; generation?: unknown };
    return type === "policy" && Number.isSafeInteger(generation) ? (generation as number) : undefined;
  } catch {
    return undefined;
  }
}

async function failure(response: Response, now: number): Promise<Extract<Fetched, { kind: "failed" }>> {
  const { status, headers } = response;
  await response.body?.cancel().catch(() => {});
  return {
    kind: "failed",
    waitMs: retryAfter(headers.get("retry-after"), now),
    refused: status === 401 || status === 403,
    message: `HTTP ${status}`,
  };
}

/** @throws if the body is longer than any policy */
async function textOf(response: Response): Promise<string> {
  if (response.body === null) return "";
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.length > MOST_CHARACTERS) break;
  }
  return text;
}

function idle(afterMs: number, silent: AbortController): ReturnType<typeof setTimeout> {
  const timer = setTimeout(() => silent.abort(), afterMs);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

const base = ({ url }: ServerAccess) => url.replace(/\/+$/, "");
const authorization = ({ key }: ServerAccess) => ({
  authorization: `Bearer ${typeof key === "function" ? key() : key}`,
});
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
