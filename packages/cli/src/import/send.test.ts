import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import { json } from "../testing/fake-server.ts";
import { type ImportTarget, startImportTarget } from "../testing/import-target.ts";
import { batches, sendBatch } from "./send.ts";

let target: ImportTarget;
beforeEach(async () => {
  target = await startImportTarget();
});
afterEach(() => target.close());

describe("sending", () => {
  const event = {
    id: "1",
    type: "session",
    status: "started",
    at: 1_790_000_000_000,
    harness: "h",
    session: "s",
  } as const;
  const send = (waits: number[] = []) =>
    sendBatch(target.connection(), [event, { ...event, id: "2" }], {
      pause: async (ms) => void waits.push(ms),
      now: () => 0,
      random: () => 0,
      patienceMs: 15_000,
    });

  it("waits as long as it is asked to, and sends again", async () => {
    target.failures = [
      (response) => json(response, 429, {}, { "retry-after": "3" }),
      (response) => json(response, 503, {}, { "retry-after": new Date(7_000).toUTCString() }),
      (response) => void response.destroy(),
    ];
    const waits: number[] = [];
    expect(await send(waits)).toMatchObject({ accepted: 2 });
    expect(waits).toEqual([3_000, 7_000, 2_000]);
  });

  it("waits longer each time, also when the server always asks for one second", async () => {
    target.failures = Array.from(
      { length: 4 },
      () => (response) => json(response, 503, {}, { "retry-after": "1" }),
    );
    const waits: number[] = [];
    expect(await send(waits)).toMatchObject({ accepted: 2 });
    expect(waits).toEqual([1_000, 1_000, 2_000, 4_000]);
  });

  it.each([408, 429, 500, 502, 503, 504])("sends again after HTTP %d", async (status) => {
    target.failures = [(response) => json(response, status, {})];
    expect(await send()).toMatchObject({ accepted: 2 });
  });

  it("spreads its attempts", async () => {
    const waits: number[] = [];
    target.failures = [(response) => json(response, 503, {})];
    await sendBatch(target.connection(), [event], {
      pause: async (ms) => void waits.push(ms),
      random: () => 1,
    });
    expect(waits).toEqual([250]);
  });

  it("says why it waits and for how long", async () => {
    target.failures = [
      (response) =>
        json(
          response,
          503,
          { error: { code: "disk_full", message: "The disk is full." } },
          { "retry-after": "30" },
        ),
    ];
    const said: unknown[] = [];
    await sendBatch(target.connection(), [event], {
      pause: async () => {},
      onWait: (...told) => said.push(told),
    });
    expect(said).toEqual([[30_000, expect.stringContaining("HTTP 503, The disk is full.")]]);
  });

  it("gives up when its patience is used up, with the reason", async () => {
    target.failures = Array.from({ length: 20 }, () => (response) => json(response, 503, {}));
    await expect(send()).rejects.toThrow(/refused the events: HTTP 503/);
  });

  it("does not repeat what waiting cannot cure", async () => {
    target.failures = [
      (response) =>
        json(response, 403, { error: { code: "forbidden_scope", message: "needs the scope ingest" } }),
    ];
    const error = await send().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CliError);
    expect((error as CliError).message).toContain("needs the scope ingest");
    expect(target.server.seen).toHaveLength(1);
  });

  it("halves what is too large", async () => {
    target.failures = [(response) => json(response, 413, {})];
    expect(await send()).toMatchObject({ accepted: 2 });
    expect(target.server.seen).toHaveLength(3);
  });

  it("goes in batches of at most a thousand", () => {
    expect([...batches(Array.from({ length: 2_001 }))].map((batch) => batch.length)).toEqual([
      1_000, 1_000, 1,
    ]);
  });
});
