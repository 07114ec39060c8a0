import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

export interface RecordedRequest {
  method: string;
  path: string;
  authorization: string | undefined;
  /** The header Plimsoll-Project. */
  project: string | undefined;
  body: string;
}

export interface FakeServer {
  url: string;
  seen: RecordedRequest[];
  /** Writes a text to every open live stream. */
  live(text: string): void;
  liveClients(): number;
  close(): Promise<void>;
}

export type Procedure = (input: unknown) => unknown;
export class Refusal {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    this.status = status;
    this.code = code;
  }
}

export interface FakeServerOptions {
  /** tRPC procedures by name. A Refusal is answered as a tRPC error. */
  procedures?: Record<string, Procedure>;
  /** Any other path, such as /api/v1/events or /health. */
  routes?: Record<string, (request: RecordedRequest, response: ServerResponse) => void>;
  live?: boolean;
}

/** Starts an HTTP server that answers like Plimsoll or Phantom. */
export async function startFakeServer(options: FakeServerOptions): Promise<FakeServer> {
  const seen: RecordedRequest[] = [];
  const streams = new Set<ServerResponse>();
  const server = createServer(async (request, response) => {
    const record = await read(request);
    seen.push(record);
    const route = options.routes?.[record.path.split("?")[0]!];
    if (route !== undefined) route(record, response);
    else if (record.path.startsWith("/api/trpc/"))
      await answerTrpc(record, response, options.procedures ?? {});
    else if (record.path === "/api/v1/live" && options.live) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": hello\n\n");
      streams.add(response);
      response.on("close", () => streams.delete(response));
    } else json(response, 404, { error: { code: "not_found", message: "nothing here" } });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    live: (text) => {
      for (const stream of streams) stream.write(text);
    },
    liveClients: () => streams.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const raw = Buffer.concat(chunks);
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    authorization: request.headers.authorization,
    project: request.headers["plimsoll-project"] as string | undefined,
    body: (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8"),
  };
}

/** Answers a tRPC batch: comma-separated names in the path, inputs by position, one answer each. */
async function answerTrpc(
  request: RecordedRequest,
  response: ServerResponse,
  procedures: Record<string, Procedure>,
): Promise<void> {
  const url = new URL(request.path, "http://fake-server");
  const names = decodeURIComponent(url.pathname.slice("/api/trpc/".length)).split(",");
  const text = request.method === "GET" ? url.searchParams.get("input") : request.body;
  const inputs = (text ? JSON.parse(text) : {}) as Record<string, unknown>;
  let worst = 200;
  const answerOf = async (path: string, at: number) => {
    const procedure = procedures[path];
    const result = procedure === undefined ? new Refusal(404, "NOT_FOUND") : await procedure(inputs[at]);
    if (!(result instanceof Refusal)) return { result: { data: result } };
    worst = result.status;
    const data = { code: result.code, httpStatus: result.status, path };
    return { error: { message: result.code, code: -32_000, data } };
  };
  json(response, worst, await Promise.all(names.map(answerOf)));
}
