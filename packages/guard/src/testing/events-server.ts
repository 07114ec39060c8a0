import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";

let number = 0;
/** Another event. */
export const event = (size = 0): PlimsollEventInput => ({
  type: "turn",
  id: `t${number++}`,
  at: Date.UTC(2026, 10, 20) + number,
  harness: "h",
  session: "s",
  model: "m",
  usage: { input_tokens: 100 },
  ...(size > 0 ? { note: "x".repeat(size) } : {}),
});

export type ScriptedAnswer = { status: number; headers?: Record<string, string>; body?: unknown };

/** Starts a server that answers as scripted and counts how often it stored each event id. */
export async function scripted(
  answer: (lines: number, request: number) => ScriptedAnswer,
  /** Milliseconds before it answers. */
  delay: () => number = () => 0,
) {
  const stored = new Map<string, number>();
  const requests: { lines: number; encoding: string | undefined; auth: string | undefined; at: number }[] =
    [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8");
      const lines = text.split("\n").filter((line) => line !== "");
      requests.push({
        lines: lines.length,
        encoding: request.headers["content-encoding"],
        auth: request.headers.authorization,
        at: performance.now(),
      });
      const { status, headers, body } = answer(lines.length, requests.length);
      if (status === 200) {
        for (const line of lines) {
          const { id } = JSON.parse(line) as { id: string };
          stored.set(id, (stored.get(id) ?? 0) + 1);
        }
      }
      setTimeout(() => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(body ?? { accepted: lines.length, duplicates: 0, rejected: [] }));
      }, delay());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stored,
    requests,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
