import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that sends data to a server. */
export interface SentData {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** A loopback address that passes everything on to a server and keeps the telemetry and the events that were sent to it. */
export interface DataRecorder {
  url: string;
  telemetry: readonly SentData[];
  events: readonly SentData[];
  close(): Promise<void>;
}

const KEPT = ["content-type", "content-encoding"];

export async function startDataRecorder(server: string): Promise<DataRecorder> {
  const telemetry: SentData[] = [];
  const events: SentData[] = [];
  const recorder = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const body = await bodyOf(request);
    const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
      /^(?:host|connection|content-length|transfer-encoding|expect)$/.test(name)
        ? []
        : values.map((value): [string, string] => [name, value]),
    );
    const sent = { path, body, headers: Object.fromEntries(headers.filter(([name]) => KEPT.includes(name))) };
    if (path.startsWith("/otlp/")) telemetry.push(sent);
    if (path === "/api/v1/events") events.push(sent);
    const method = request.method ?? "GET";
    try {
      const answer = await fetch(server + path, {
        method,
        headers,
        ...(method !== "GET" && method !== "HEAD" && { body: new Uint8Array(body) }),
      });
      response.writeHead(answer.status, [...answer.headers].filter(([name]) => KEPT[0] === name).flat());
      response.end(Buffer.from(await answer.arrayBuffer()));
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => recorder.listen(0, "127.0.0.1", resolve));
  const { port } = recorder.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    telemetry,
    events,
    close: () =>
      new Promise((resolve) => {
        recorder.close(() => resolve());
        recorder.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
