import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { GENERATION_HEADER } from "@plimsoll/protocol/api";
import { type PolicyAckEvent, parseEvent } from "@plimsoll/protocol/events";
import { canonicalJson, type PolicySettings } from "@plimsoll/protocol/policy";

export const POLICY_KEY = "policy-key";
export const POLICY_HARNESS = "bot@host-1";

/** SHA-256 of the canonical JSON, as the server computes it. */
export const hashOfSettings = (settings: unknown): string =>
  createHash("sha256").update(canonicalJson(settings)).digest("hex");

/** A body as the server sends it. */
export const policyBody = (generation: number, settings: unknown): string =>
  JSON.stringify({ generation, hash: hashOfSettings(settings), settings });

/** Answers a request in another way than the contract says. */
export type Fault = (response: ServerResponse, request: IncomingMessage) => void;

export const answerWith =
  (status: number, body = "", headers: Record<string, string> = {}): Fault =>
  (response) =>
    void response.writeHead(status, headers).end(body);

export const neverAnswer: Fault = () => {};

/** A strict server of one project's policy: a request that breaks the contract is noted in `violations`. */
export class PolicyServer {
  readonly violations: string[] = [];
  readonly acks: PolicyAckEvent[] = [];
  /** Every request for the policy, with its `If-None-Match`. */
  readonly asked: (string | undefined)[] = [];
  readonly streams = new Set<ServerResponse>();
  /** How often a stream was asked for. */
  streamed = 0;
  generation = 0;
  settings: PolicySettings = {};
  /** Generation in the header, if it is not the one served. */
  newest: number | undefined;
  /** Answers to the next requests for the policy, in order. */
  faults: Fault[] = [];
  /** Answers to every request for the policy. */
  fault: Fault | undefined;
  streamFault: Fault | undefined;
  key = POLICY_KEY;
  /** The harnesses that may ask. */
  harness = new RegExp(`^${POLICY_HARNESS}$`);
  url = "";
  readonly #server = createServer((request, response) => this.#serve(request, response));

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Saves a new version and tells every stream. */
  save(settings: PolicySettings, generation = this.generation + 1): void {
    this.generation = generation;
    this.settings = settings;
    this.notice();
  }

  notice(generation = this.newest ?? this.generation): void {
    for (const stream of this.streams)
      stream.write(`event: message\ndata: ${JSON.stringify({ type: "policy", generation })}\n\n`);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", "http://server");
    const route = `${request.method} ${url.pathname}`;
    if (route === "POST /api/v1/events") this.#events(request, response);
    else if (route === "GET /api/v1/live") this.#read(this.streamFault, url, request, response);
    else if (route === "GET /api/v1/policy")
      this.#read(this.faults.shift() ?? this.fault, url, request, response);
    else {
      this.violations.push(`unknown path ${route}`);
      response.writeHead(404).end();
    }
  }

  #read(fault: Fault | undefined, url: URL, request: IncomingMessage, response: ServerResponse): void {
    const isStream = url.pathname === "/api/v1/live";
    if (isStream) this.streamed += 1;
    else this.asked.push(request.headers["if-none-match"]);
    if (fault !== undefined) fault(response, request);
    else if (request.headers.authorization !== `Bearer ${this.key}`) response.writeHead(401).end();
    else if (isStream) this.#live(url, response);
    else this.#policy(url, request, response);
  }

  #live(url: URL, response: ServerResponse): void {
    if (url.searchParams.get("only") !== "policy") this.violations.push(`stream without only=policy: ${url}`);
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    this.streams.add(response);
    response.on("close", () => this.streams.delete(response));
    const message = { type: "policy", generation: this.newest ?? this.generation };
    response.write(`retry: 2000\n\nid: 1\nevent: message\ndata: ${JSON.stringify(message)}\n\n`);
    response.write(`: still here\n\nevent: message\ndata: {"type":"later"}\n\n`);
  }

  #policy(url: URL, request: IncomingMessage, response: ServerResponse): void {
    if (!this.harness.test(url.searchParams.get("harness") ?? ""))
      this.violations.push(`wrong harness: ${url}`);
    const tag = `"${hashOfSettings(this.settings)}"`;
    response.setHeader("etag", tag);
    response.setHeader(GENERATION_HEADER, String(this.newest ?? this.generation));
    if (request.headers["if-none-match"] === tag) return void response.writeHead(304).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(policyBody(this.generation, this.settings));
  }

  #events(request: IncomingMessage, response: ServerResponse): void {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const raw = Buffer.concat(pieces);
      const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8");
      const lines = text.split("\n").filter((line) => line !== "");
      for (const line of lines) {
        const parsed = parseEvent(JSON.parse(line));
        if (!parsed.ok)
          this.violations.push(`${parsed.rejection.path}: ${parsed.rejection.message} in ${line}`);
        else if (parsed.event.type === "policy_ack") this.acks.push(parsed.event);
      }
      response.setHeader(GENERATION_HEADER, String(this.newest ?? this.generation));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ accepted: lines.length, rejected: [] }));
    });
  }
}
