import { timeLimit } from "@plimsoll/protocol/pure";
import { generationIn, refusalOf, retryAfter, type ServerRefusal, textOf } from "../http/answers.ts";
import { MOST_CHARACTERS } from "./read-answer.ts";

/** How to reach the server. */
export interface ServerAccess {
  url: string;
  /** Without one, `fetch` authorizes the requests. */
  key?: string | (() => string);
  fetch(url: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response>;
  timeoutMs: number;
  /** Epoch ms. */
  clock: () => number;
}

/** Sends a GET request with the key. */
export function get(
  { url, key, fetch }: ServerAccess,
  path: string,
  { headers, signal }: { headers: Record<string, string>; signal: AbortSignal },
): Promise<Response> {
  const token = typeof key === "function" ? key() : key;
  const own: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(`${url.replace(/\/+$/, "")}${path}`, { headers: { ...headers, ...own }, signal });
}

/** The agents that a policy is asked for. */
export interface PolicyReader {
  /** The harness instance, such as `my-bot@host-1`. */
  harness: string;
  model: string | undefined;
}

/** The result of asking for the policy. */
export type Fetched =
  | { kind: "answer"; text: string; newest: number | undefined }
  | { kind: "unchanged"; newest: number | undefined }
  /** `refused`: the key is wrong or may not read policies. `waitMs`: what the server asked for. */
  | { kind: "refused" | "later"; refusal: ServerRefusal; waitMs: number | undefined }
  | { kind: "unreachable"; error: unknown };

/**
 * Asks for the policy. Never throws.
 * @param tag the hash of the policy that the caller has
 */
export async function fetchPolicy(
  access: ServerAccess,
  { harness, model }: PolicyReader,
  tag: string | undefined,
  stopped: AbortSignal,
): Promise<Fetched> {
  const query = new URLSearchParams({ harness, ...(model === undefined ? {} : { model }) });
  try {
    const signal = timeLimit(access.timeoutMs, stopped);
    const headers: Record<string, string> = tag === undefined ? {} : { "if-none-match": `"${tag}"` };
    const response = await get(access, `/api/v1/policy?${query}`, { headers, signal });
    const newest = generationIn(response.headers);
    if (response.status === 304) return { kind: "unchanged", newest };
    if (response.status === 200)
      return { kind: "answer", text: await textOf(response, MOST_CHARACTERS), newest };
    return {
      kind: response.status === 401 || response.status === 403 ? "refused" : "later",
      refusal: await refusalOf(response),
      waitMs: retryAfter(response, access.clock()),
    };
  } catch (error) {
    return { kind: "unreachable", error };
  }
}
