import type { IncomingMessage } from "node:http";
import type { ReadableStream } from "node:stream/web";
import { wayTo } from "./proxy.ts";

/** Statuses whose answers have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * A `fetch` that goes through the proxy in HTTPS_PROXY, rejects with the error of the connection itself, and has no time limit
 * but its signal. Follows no redirect. Node's own fetch knows no proxy before Node 24, and gives up after five minutes without
 * headers.
 * @param init `body` is a text, bytes or absent
 */
export function sendRequest(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const target = new URL(url);
  // Loaded only for a request: a harness waits for programs that most often send none.
  const { Readable } = process.getBuiltinModule("node:stream");
  return new Promise((resolve, reject) => {
    const { request, ...way } = wayTo(target);
    const outgoing = request(target, {
      ...way,
      method: init.method ?? "GET",
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(init.signal ? { signal: init.signal } : {}),
    });
    const failed = (error: Error) => (init.signal?.aborted ? init.signal.reason : error);
    outgoing.on("error", (error) => reject(failed(error)));
    outgoing.on("response", (incoming) => {
      const status = incoming.statusCode ?? 502;
      // A response of fetch has no other status, and what is thrown here would end the process.
      if (status < 200 || status > 599) {
        outgoing.destroy(new Error(`The answer has the HTTP status ${status}, which does not exist.`));
        return;
      }
      const headers = headersOf(incoming);
      if (WITHOUT_BODY.has(status)) {
        incoming.resume();
        resolve(new Response(null, { status, headers }));
      } else
        resolve(new Response(Readable.toWeb(incoming) as BodyInit & ReadableStream, { status, headers }));
    });
    outgoing.end(bytesOf(init.body));
  });
}

function headersOf({ headers }: IncomingMessage): Headers {
  const read = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) read.append(name, one);
  return read;
}

function bytesOf(body: RequestInit["body"]): string | Uint8Array | undefined {
  if (body === null || body === undefined || typeof body === "string") return body ?? undefined;
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("A body is a text or bytes.");
}
