import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { Readable } from "node:stream";

/** Statuses whose answers have no body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * A `fetch` for requests without a body, whose connections do not keep the process alive. Pass it to `policySource`, whose
 * stream otherwise lets a process run until `close()`.
 * @example
 * const source = policySource({ url, key, harness, guard, reporter, fetch: backgroundFetch });
 */
export const backgroundFetch: typeof fetch = (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const headers = Object.fromEntries(new Headers(init.headers));
  const { method = "GET", signal } = init;
  return new Promise<Response>((resolve, reject) => {
    const send = url.protocol === "https:" ? overHttps : overHttp;
    const sent = send(url, { method, headers, agent: false, ...(signal && { signal }) });
    sent.on("socket", (socket) => void socket.unref());
    sent.on("error", reject);
    sent.on("response", (answer) => resolve(responseOf(answer)));
    sent.end();
  });
};

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 502 } = answer;
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  if (!WITHOUT_BODY.has(status))
    return new Response(Readable.toWeb(answer) as ReadableStream, { status, headers });
  answer.resume();
  return new Response(null, { status, headers });
}
