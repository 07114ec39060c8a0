import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { START, sendAndWait, unique } from "../support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({});
});
afterAll(() => server.stop());

const up = { at: START + 1_000, threshold: "warning", direction: "up" };

it.each([
  ["another threshold", up, { ...up, threshold: "x", direction: "down" }],
  ["an earlier time and the other direction", up, { ...up, at: START, direction: "down" }],
  ["the same, the other way round", { ...up, direction: "down" }, { ...up, at: START }],
])("a report of a crossing that is sent again with %s keeps the counts right", async (_, first, second) => {
  const session = unique("session");
  for (const report of [first, second]) {
    const event = {
      ...report,
      id: "c",
      type: "threshold_crossed",
      threshold_tokens: 100,
      context_tokens: 200,
    };
    expect((await sendAndWait(server, [{ ...event, harness: "h", session }])).status).toBe(200);
  }
  await server.expectHealthy();
});
