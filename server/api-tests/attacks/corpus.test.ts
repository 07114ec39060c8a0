import { afterAll, beforeAll, expect, it } from "vitest";
import { inputOf, KeptRecording, KeptRequest, readCorpus } from "../../../fuzz/corpus.ts";
import { type Credentials, type HttpInput, requestBytes } from "../../../fuzz/http-input.ts";
import { judge } from "../../../fuzz/judge.ts";
import { Pipeline } from "../../../fuzz/pipeline.ts";
import { judgeRecording, recordingOf } from "../../../fuzz/recordings.ts";
import { countedEvents, doctorFaults } from "../../../fuzz/server-under-test.ts";
import { STALL_MS } from "../../../fuzz/watch.ts";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { type StallWatch, watchHealth } from "../health-watch.ts";
import { caughtUp, makeKey } from "../support.ts";

let server: TestServer;
let credentials: Credentials;
let health: StallWatch;
let accepted = 0;

beforeAll(async () => {
  server = await startTestServer();
  credentials = {
    local: server.token,
    ingest: (await makeKey(server, "ingest")).secret,
    read: (await makeKey(server, "read")).secret,
  };
  health = await watchHealth(server);
});
afterAll(async () => {
  await health?.stop();
  await server?.stop();
});

async function replay(input: HttpInput): Promise<void> {
  const pipeline = new Pipeline(server.port);
  try {
    const bytes = requestBytes(input, new URL(server.url).host, credentials);
    const { fault, detail, ...verdict } = judge(input, await pipeline.send(input.method, bytes));
    expect({ fault, detail }).toEqual({ fault: undefined, detail: undefined });
    accepted += verdict.accepted;
  } finally {
    pipeline.close();
  }
  expect(await health.take(), "ms of work before an answer of /healthz").toBeLessThan(STALL_MS);
}

it.each(readCorpus("bodies", KeptRequest))("body %s", (_, kept) => replay(inputOf(kept)));

it.each(readCorpus("telemetry", KeptRequest))("telemetry %s", (_, kept) => replay(inputOf(kept)));

it.each(readCorpus("queries", KeptRequest))("query %s", (_, kept) => replay(inputOf(kept)));

it.each(readCorpus("recordings", KeptRecording))("recording %s", async (_, kept) => {
  const { fault, detail } = await judgeRecording(recordingOf(kept));
  expect({ fault, detail }).toEqual({ fault: undefined, detail: undefined });
});

it("the server counted what it accepted, and its doctor finds nothing", async () => {
  await caughtUp(server);
  expect(accepted).toBeGreaterThan(0);
  expect(await countedEvents(server)).toBe(accepted);
  expect(await doctorFaults(server)).toEqual([]);
});
