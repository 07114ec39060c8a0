import type { IngestRefusals } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KEPT_REFUSALS } from "../db/tables/ingest-refusals.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { sendAndWait, turn, unique } from "./support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const read = async () => (await server.trpc<IngestRefusals>("ingest.refusals")).refusals;

it("names the field, the harness and a redacted example, and counts repeats", async () => {
  const harness = unique("wrong");
  const wrong = { ...turn("a private title", 1_000), harness, usage: { input_tokens: "12k of secrets" } };
  await sendAndWait(server, [wrong, { ...wrong, id: "other" }, turn(unique("right"), 1_000)]);
  await until(async () => (await read()).some((one) => one.harness === harness));
  await sendAndWait(server, [wrong]);
  await until(async () => (await read()).some((one) => one.harness === harness && one.count === 3));
  const refusal = (await read()).find((one) => one.harness === harness)!;
  expect(refusal).toMatchObject({
    type: "turn",
    code: "invalid_field",
    path: "usage.input_tokens",
    count: 3,
  });
  expect(Date.parse(refusal.last_at)).toBeGreaterThanOrEqual(Date.parse(refusal.first_at));
  expect(refusal.example).toContain("(text of 14 characters)");
  expect(refusal.example).not.toMatch(/secrets|private/);
});

it("remembers events that are no objects, have hostile names, or come in thousands of kinds", async () => {
  const events = [
    7,
    { type: "turn\u0000\ud800", harness: "h".repeat(10_000), id: 1 },
    ...Array.from({ length: 3_000 }, (_, n) => ({ type: `kind-${n}`, harness: unique("many") })),
  ];
  const { body } = await sendAndWait(server, events);
  expect(body.rejected).toHaveLength(events.length);
  await until(async () => (await read()).some(({ code }) => code === "not_an_object"));
  for (let round = 0; round < 4; round++) {
    await sendAndWait(
      server,
      Array.from({ length: 20 }, (_, n) => ({ type: `round-${round}-${n}` })),
    );
    await until(
      async () => (await read()).filter(({ type }) => type?.startsWith(`round-${round}-`)).length === 20,
    );
  }
  const kept = await read();
  expect(kept).toHaveLength(KEPT_REFUSALS);
  for (const { harness, example } of kept) {
    expect(harness?.length ?? 0).toBeLessThanOrEqual(128);
    expect(example.length).toBeLessThanOrEqual(1_501);
  }
});

it("shows none of them to another project, and only to keys that read", async () => {
  const { id } = await server.mutate<{ id: number }>("projects.create", { name: unique("project") });
  const headers = { "plimsoll-project": String(id) };
  const { body } = await server.request<IngestRefusals>("/api/v1/ingest/refusals", { headers });
  expect(body.refusals).toEqual([]);
});
