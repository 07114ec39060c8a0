import type { CreatedKey } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventMaker } from "../../fuzz/events.ts";
import { Random } from "../../fuzz/random.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { expectNowhere } from "./nowhere.ts";
import { START, sendAndWait, turn, unique } from "./support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const TEXT = "sesame of a conversation";

/** The value with a field of its own in each of its objects. */
function withText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withText);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([key, one]) => [key, withText(one)]);
  return { ...Object.fromEntries(fields), said: TEXT, [TEXT]: 1 };
}

it("keeps no text that an event has beside its fields, whatever its type", async () => {
  const random = new Random(35, 1);
  const make = eventMaker(35, { now: START, names: ["main", "s1"], ids: [] });
  const events = Array.from({ length: 400 }, () => make(random) as { type?: string });
  // A policy has names of its own in it.
  const sent = events.filter(({ type }) => type !== "policy_ack").map(withText);
  const { status, body } = await sendAndWait(server, sent);
  expect(status).toBe(200);
  expect(body.accepted).toBeGreaterThan(300);
  expect(new Set(events.map(({ type }) => type)).size).toBeGreaterThan(18);
  await expectNowhere(server, TEXT);
});

it("keeps no text that an agent asks its tools with", async () => {
  const [harness, session] = [unique("bot"), unique("session")];
  await sendAndWait(server, [turn(session, 40_000, { harness })]);
  const { secret } = await server.mutate<CreatedKey>("keys.create", {
    ...{ name: unique("key"), scopes: ["self"], harness },
  });
  for (const name of ["headroom", "what_fills", "will_it_fit", "checkpoint", "what_was_dropped", TEXT]) {
    const { status } = await server.request("/api/v1/mcp", {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${secret}`, "content-type": "application/json" },
        ...{ accept: "application/json, text/event-stream", "plimsoll-session": session },
      },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: TEXT, method: "tools/call" },
        params: { name, arguments: { note: TEXT, path: TEXT, tokens: 9 }, _meta: { [TEXT]: TEXT } },
      }),
    });
    expect(status).toBe(200);
  }
  await expectNowhere(server, TEXT);
});
