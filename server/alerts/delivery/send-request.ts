import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { AttemptOutcome } from "@plimsoll/protocol/api";
import { timeLimit } from "@plimsoll/protocol/pure";
import {
  AddressNotAllowed,
  allowedLookup,
  checkLiteral,
  type OpenNetworks,
  type ResolveAll,
} from "./addresses.ts";
import { plain } from "./stored-secrets.ts";

/** A request that delivers a notification. */
export interface OutgoingRequest {
  method: "POST" | "PUT";
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** How an attempt ended, and what is kept of it. */
export interface AttemptResult {
  outcome: AttemptOutcome;
  /** Of HTTP or SMTP; undefined if there was no answer. */
  status: number | undefined;
  /** What the receiver asked to wait, in ms. */
  retryAfterMs: number | undefined;
  /** The first 4 KiB of the answer, or what went wrong. */
  answer: string;
}

export interface AttemptOptions {
  open: OpenNetworks;
  resolve?: ResolveAll;
  /** Milliseconds for the whole exchange. */
  timeoutMs?: number;
  /** Certificates to trust besides those of Node, as PEM. */
  ca?: string;
  /** Epoch ms, for a `Retry-After` that is a date. */
  now?: number;
  /** Ends the exchange. */
  signal?: AbortSignal;
}

/** What ends an exchange. */
export function endOf({ timeoutMs = TIMEOUT_MS, signal }: AttemptOptions): AbortSignal {
  return timeLimit(timeoutMs, signal);
}

const TIMEOUT_MS = 10_000;
/** Bytes of an answer that are kept, and after which the connection is cut. */
const KEPT_BYTES = 4_096;
const MOST_BYTES = 65_536;

/** Sends a request once. Follows no redirect. Never throws. */
export async function sendRequest(request: OutgoingRequest, options: AttemptOptions): Promise<AttemptResult> {
  const signal = endOf(options);
  try {
    const response = await open(request, options, signal);
    const answer = await readAnswer(response);
    const status = response.statusCode ?? 0;
    return {
      outcome: outcomeOf(status),
      status,
      retryAfterMs: retryAfterMs(response.headers["retry-after"], options.now ?? Date.now()),
      answer,
    };
  } catch (error) {
    return {
      ...failureOf(signal.aborted ? signal.reason : error),
      status: undefined,
      retryAfterMs: undefined,
    };
  }
}

function open(
  { method, url, headers, body }: OutgoingRequest,
  { open: networks, resolve, ca }: AttemptOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { protocol, hostname, username, password, port, pathname, search } = new URL(url);
  checkLiteral(hostname, networks);
  const credentials =
    username === "" && password === "" ? undefined : `${plain(username)}:${plain(password)}`;
  const send = protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((done, fail) => {
    const sent = send({
      method,
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: `${pathname}${search}`,
      auth: credentials,
      headers: { "user-agent": "Plimsoll", ...headers, "content-length": Buffer.byteLength(body) },
      // No connection is shared: an endpoint must not reach what another one opened.
      agent: false,
      lookup: allowedLookup(networks, resolve),
      ca,
      signal,
    });
    sent.on("response", done).on("error", fail);
    sent.end(body);
  });
}

/** The beginning of an answer. A receiver may close, or send without end. */
async function readAnswer(response: IncomingMessage): Promise<string> {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (keptBytes < KEPT_BYTES) {
      const part = chunk.subarray(0, KEPT_BYTES - keptBytes);
      kept.push(part);
      keptBytes += part.length;
    }
    // Leaving the loop closes the connection.
    if (bytes >= MOST_BYTES) break;
  }
  return Buffer.concat(kept).toString("utf8");
}

/** PostgreSQL stores no NUL and no half of a character, and a cut may split one. */
export function storableText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\uFFFD+$/, "")
    .replaceAll("\0", "");
}

function outcomeOf(status: number): AttemptOutcome {
  if (status >= 200 && status < 300) return "delivered";
  if (status >= 300 && status < 400) return "redirect";
  if (status === 410) return "gone";
  if ([400, 413, 415, 422].includes(status)) return "refused";
  return "http_status";
}

/** Seconds, or a date. Undefined if it says neither. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  // Date.parse takes many texts for dates.
  const at = /GMT$/.test(header.trim()) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

const OUTCOMES: Readonly<Record<string, AttemptOutcome>> = {
  ECONNREFUSED: "connection_refused",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ETIMEDOUT: "timeout",
  ETIMEOUT: "timeout",
};

/** What went wrong, for the log of attempts. */
export function failureOf(error: unknown): { outcome: AttemptOutcome; answer: string } {
  if (error instanceof AddressNotAllowed) return { outcome: "address_not_allowed", answer: error.message };
  if (error instanceof DOMException && error.name === "TimeoutError")
    return { outcome: "timeout", answer: "No whole answer came in time." };
  // Several addresses of one name were tried.
  if (error instanceof AggregateError && error.errors.length > 0) return failureOf(error.errors[0]);
  const { code = "", message } = error as NodeJS.ErrnoException;
  const isTls = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH)/.test(
    code,
  );
  return { outcome: isTls ? "tls" : (OUTCOMES[code] ?? "connection_lost"), answer: message };
}
