import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { type PolicyAckEvent, parseEvent } from "@plimsoll/protocol/events";
import { canonicalJson, type PolicySettings } from "@plimsoll/protocol/policy";
import { type FakeServer, json, type RecordedRequest, startFakeServer } from "./fake-server.ts";

/** A strict server of policies. What it would refuse is in `mistakes`, which a test expects to be empty. */
export interface FakePolicyServer extends FakeServer {
  /** Saves a policy as the next generation, and tells every stream. */
  save(settings: PolicySettings): void;
  acknowledged: PolicyAckEvent[];
  mistakes: string[];
  /** Answers every request with this status until it is 200 again. */
  status: number;
  /** Answers in the place of the policy. */
  policyBody: string | undefined;
}

export const KEY = "plim_test";

export async function startPolicyServer(): Promise<FakePolicyServer> {
  let generation = 0;
  let settings: PolicySettings = {};
  const streams = new Set<ServerResponse>();
  const acknowledged: PolicyAckEvent[] = [];
  const mistakes: string[] = [];
  const notice = () => `event: message\ndata: ${JSON.stringify({ type: "policy", generation })}\n\n`;
  const hashOf = () => createHash("sha256").update(canonicalJson(settings)).digest("hex");

  const guarded =
    (method: string, answer: (request: RecordedRequest, response: ServerResponse) => void) =>
    (request: RecordedRequest, response: ServerResponse) => {
      if (request.method !== method) mistakes.push(`${request.method} ${request.path}`);
      if (request.authorization !== `Bearer ${KEY}`) mistakes.push(`key of ${request.path}`);
      if (server.status === 200) answer(request, response);
      else json(response, server.status, { error: { code: "unavailable", message: "Not now." } });
    };

  const fake = await startFakeServer({
    routes: {
      "/api/v1/policy": guarded("GET", ({ path }, response) => {
        const query = new URL(path, "http://server").searchParams;
        if (!query.get("harness")) mistakes.push(`no harness in ${path}`);
        response.setHeader("plimsoll-policy-generation", generation);
        response.setHeader("etag", `"${hashOf()}"`);
        if (server.policyBody !== undefined) response.end(server.policyBody);
        else json(response, 200, { generation, hash: hashOf(), settings });
      }),
      "/api/v1/live": guarded("GET", ({ path }, response) => {
        if (!path.endsWith("?only=policy")) mistakes.push(path);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`: still here\n\nevent: message\ndata: {"type":"later"}\n\n${notice()}`);
        streams.add(response);
        response.on("close", () => streams.delete(response));
      }),
      "/api/v1/events": guarded("POST", ({ body }, response) => {
        const events = body.split("\n").map((line) => JSON.parse(line) as unknown);
        for (const event of events) {
          const parsed = parseEvent(event);
          if (!parsed.ok) mistakes.push(JSON.stringify(parsed));
          else if (parsed.event.type !== "policy_ack") mistakes.push(parsed.event.type);
          else if (!acknowledged.some(({ id }) => id === parsed.event.id)) acknowledged.push(parsed.event);
        }
        response.setHeader("plimsoll-policy-generation", generation);
        json(response, 200, { accepted: events.length, rejected: [] });
      }),
    },
  });
  const server: FakePolicyServer = Object.assign(fake, {
    acknowledged,
    mistakes,
    status: 200,
    policyBody: undefined,
    save(next: PolicySettings) {
      generation += 1;
      settings = next;
      for (const stream of streams) stream.write(notice());
    },
  });
  return server;
}
