import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { GENERATION_HEADER } from "@plimsoll/protocol/api";
import { type PolicyAckEvent, parseEvent } from "@plimsoll/protocol/events";
import { canonicalJson } from "@plimsoll/protocol/policy";

/** One answer of a case: a policy, or anything else. */
export interface ConformanceAnswer {
  generation?: number;
  settings?: Record<string, unknown>;
  /** Sent in place of the right hash. */
  hash?: string;
  /** Newest generation, for the header. Default: `generation`. */
  newest?: number;
  status?: number;
  headers?: Record<string, string>;
  /** Sent as it is in place of a policy. */
  body?: string;
  /** Sends only so many characters of the body. */
  cut?: number;
}

/** The server that a case scripts. It notes every request that breaks the contract. */
export class ConformanceServer {
  readonly violations: string[] = [];
  readonly acks: PolicyAckEvent[] = [];
  answers: ConformanceAnswer[] = [];
  live: "open" | "closed" | "silent" = "closed";
  /** Requests for the policy that were answered. */
  answered = 0;
  streamed = 0;
  /** `If-None-Match` of the last request for the policy, and the tag of the last policy before it. */
  lastAsked: string | undefined;
  lastTag: string | undefined;
  url = "";
  readonly #key: string;
  readonly #harness: string;
  readonly #streams = new Set<ServerResponse>();
  readonly #server = createServer((request, response) => this.#serve(request, response));

  constructor(key: string, harness: string) {
    this.#key = key;
    this.#harness = harness;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  notice(generation: number): void {
    for (const stream of this.#streams) stream.write(noticeOf(generation));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", "http://server");
    const route = `${request.method} ${url.pathname}`;
    if (request.headers.authorization !== `Bearer ${this.#key}`)
      this.violations.push(`${route} without the key`);
    if (route === "POST /api/v1/events") this.#events(request, response);
    else if (route === "GET /api/v1/policy") this.#policy(url, request, response);
    else if (route === "GET /api/v1/live") this.#stream(url, response);
    else {
      this.violations.push(`unknown request ${route}`);
      response.writeHead(404).end();
    }
  }

  #policy(url: URL, request: IncomingMessage, response: ServerResponse): void {
    if (url.searchParams.get("harness") !== this.#harness)
      this.violations.push(`wrong harness in ${url.search}`);
    this.lastAsked = request.headers["if-none-match"];
    const answer = (this.answers.length > 1 ? this.answers.shift() : this.answers[0]) ?? { status: 503 };
    this.answered += 1;
    for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
    if (answer.generation === undefined) {
      response.writeHead(answer.status ?? 200).end(answer.body ?? "");
      return;
    }
    const { generation, settings = {} } = answer;
    const hash = answer.hash ?? createHash("sha256").update(canonicalJson(settings)).digest("hex");
    const tag = `"${hash}"`;
    response.setHeader("etag", tag);
    response.setHeader(GENERATION_HEADER, String(answer.newest ?? generation));
    if (this.lastAsked === tag) {
      this.lastTag = tag;
      response.writeHead(304).end();
      return;
    }
    const body = JSON.stringify({ generation, hash, settings });
    if (answer.cut === undefined) this.lastTag = tag;
    response.writeHead(200, { "content-type": "application/json" }).end(body.slice(0, answer.cut));
  }

  #stream(url: URL, response: ServerResponse): void {
    if (url.searchParams.get("only") !== "policy") this.violations.push(`stream of ${url.search}`);
    if (this.live === "closed") {
      response.writeHead(503).end();
      return;
    }
    this.streamed += 1;
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    this.#streams.add(response);
    const beat =
      this.live === "open" ? setInterval(() => response.write(": still here\n\n"), 300) : undefined;
    response.on("close", () => {
      clearInterval(beat);
      this.#streams.delete(response);
    });
    response.write(`retry: 2000\n\n${noticeOf(this.#newest())}`);
  }

  #newest(): number {
    const { generation = 0, newest = generation } = this.answers[0] ?? {};
    return newest;
  }

  #events(request: IncomingMessage, response: ServerResponse): void {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const raw = Buffer.concat(pieces);
      const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8");
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      for (const line of lines) this.#event(line);
      response.setHeader(GENERATION_HEADER, String(this.#newest()));
      response.end(JSON.stringify({ accepted: lines.length, rejected: [] }));
    });
  }

  #event(line: string): void {
    const parsed = parseEvent(JSON.parse(line));
    if (!parsed.ok) this.violations.push(`${parsed.rejection.path}: ${parsed.rejection.message} in ${line}`);
    else if (parsed.event.type === "policy_ack") this.acks.push(parsed.event);
  }
}

const noticeOf = (generation: number) =>
  `event: message\ndata: ${JSON.stringify({ type: "policy", generation })}\n\n`;
