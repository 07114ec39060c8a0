import type { CreatedKey, FleetStatus, IngestCounts, ReplayView, Scope } from "@plimsoll/protocol/api";
import type { IngestAnswer, PlimsollEventInput } from "@plimsoll/protocol/events";
import type { HttpAnswer, TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";

export type TurnInput = Extract<PlimsollEventInput, { type: "turn" }>;

/** A model whose window the catalog knows, and one that nobody knows. */
export const KNOWN_MODEL = "claude-sonnet-4-5";
export const KNOWN_WINDOW = 200_000;
export const UNKNOWN_MODEL = "nobody-knows-1";

/** Recent, so that what is sent is in every default range; whole minutes, so that buckets are predictable. */
export const START = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 6 * 3_600_000;

let serial = 0;
/** Turns without a time of their own. The worker keeps it from file to file, so it must not reach the present. */
let dated = 0;
const MOST_DATED = 20_000;
/** A name no other test uses. */
export const unique = (what: string): string => `${what}-${process.pid}-${++serial}`;

export function turn(session: string, input: number | undefined, more: Partial<TurnInput> = {}): TurnInput {
  serial += 1;
  if (more.at === undefined) dated = (dated + 1) % MOST_DATED;
  return {
    id: `turn-${serial}`,
    type: "turn",
    at: START + dated * 1_000,
    harness: "phantom@api",
    session,
    model: KNOWN_MODEL,
    usage: { input_tokens: input, output_tokens: 10 },
    ...more,
  };
}

/** Sends events and waits for the projection; the answer then says how many were duplicates. */
export async function sendAndWait(
  server: TestServer,
  events: unknown,
): Promise<HttpAnswer<Required<IngestAnswer>>> {
  return server.request("/api/v1/events", {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "wait" },
    body: JSON.stringify(events),
  });
}

/** Replays an empty policy over the day, and returns the id of the replay once it has ended. */
export async function finishedReplay(
  call: (path: string, input: object, kind: "query" | "mutation") => Promise<ReplayView>,
): Promise<string> {
  const { id } = await call("replays.start", { ...dayRange, candidate: {} }, "mutation");
  await until(async () => (await call("replays.status", { id }, "query")).state !== "running");
  return id;
}

/** Waits until everything acknowledged so far is projected. */
export async function caughtUp(server: TestServer): Promise<void> {
  await until(async () => {
    const { status, body } = await server.get<FleetStatus>(`/api/v1/status?${rangeQuery}`);
    return status === 200 && body.behind === null;
  });
}

export async function makeKey(server: TestServer, ...scopes: Scope[]): Promise<CreatedKey> {
  return server.mutate("keys.create", { name: unique("key"), scopes });
}

/** What the tool `headroom` answers an agent; without an answer, the server refused the request. */
export async function askHeadroom(server: TestServer, secret: string, session: string) {
  const sent = await server.request("/api/v1/mcp", {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...{ accept: "application/json, text/event-stream", "plimsoll-session": session },
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "headroom", arguments: { detail: true } },
    }),
  });
  if (sent.status !== 200) return { sent, answer: undefined };
  const { result } = JSON.parse(sent.text.slice(sent.text.indexOf("{"))) as {
    result: { content: [{ text: string }] };
  };
  const answer = JSON.parse(result.content[0].text) as { level?: { counted: number }; refused?: string };
  return { sent, answer };
}

export const dayRange = {
  from: new Date(START - 86_400_000).toISOString(),
  to: new Date(START + 86_400_000).toISOString(),
};
export const rangeQuery = new URLSearchParams(dayRange).toString();

/** What ingestion counted so far, by outcome. */
export async function countsOf(server: TestServer): Promise<Record<string, number>> {
  const { counts } = await server.trpc<IngestCounts>("ingest.counts", dayRange);
  return Object.fromEntries(counts.map(({ outcome, count }) => [outcome, count]));
}
