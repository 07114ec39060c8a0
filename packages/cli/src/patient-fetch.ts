import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/**
 * `fetch` for one request whose answer may take many minutes: Node's own gives up after five without headers.
 * Follows no redirects and reads the whole answer.
 * @param init `body` must be a string or absent; `signal` is the only time limit
 */
export function patientFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const target = new URL(url);
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = request(target, {
      method: init.method ?? "GET",
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(init.signal ? { signal: init.signal } : {}),
    });
    outgoing.on("error", (error) => reject(init.signal?.aborted ? init.signal.reason : error));
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const headers = Object.entries(incoming.headers).map(
          ([name, value]) => [name, String(value)] as const,
        );
        const status = incoming.statusCode ?? 502;
        resolve(new Response(Buffer.concat(chunks), { status, headers: Object.fromEntries(headers) }));
      });
    });
    outgoing.end(init.body ?? undefined);
  });
}
