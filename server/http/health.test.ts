import { describe, expect, it } from "vitest";
import { startHttpStack } from "../testing/http-stack.ts";
import { createReadiness } from "./health.ts";

describe("readiness", () => {
  it("names every reason", async () => {
    const readiness = createReadiness({
      pingDatabase: () => Promise.reject(new Error("refused")),
      ingestFull: () => true,
      stopping: () => true,
    });
    expect(await readiness()).toEqual([
      "The server is stopping.",
      "The queue of events is full.",
      "The database does not answer.",
    ]);
  });

  it("asks the database once a second at most, and sees it come back", async () => {
    let time = 0;
    let asked = 0;
    let up = false;
    const readiness = createReadiness(
      {
        async pingDatabase() {
          asked++;
          if (!up) throw new Error("refused");
        },
        ingestFull: () => false,
        stopping: () => false,
      },
      () => time,
    );
    await Promise.all(Array.from({ length: 20 }, () => readiness()));
    expect(asked).toBe(1);
    up = true;
    time = 1_000;
    expect(await readiness()).toEqual([]);
  });

  it("does not wait for a database that never answers", async () => {
    const readiness = createReadiness({
      pingDatabase: () => new Promise(() => {}),
      ingestFull: () => false,
      stopping: () => false,
    });
    expect(await readiness()).toEqual(["The database does not answer."]);
  });

  it("is asked without a key", async () => {
    let full = false;
    const server = await startHttpStack({ ingestFull: () => full });
    try {
      expect(await server.send("/healthz")).toMatchObject({
        status: 200,
        json: { status: "ok", version: "0.0.0" },
      });
      expect(await server.send("/readyz")).toMatchObject({ status: 200, json: { status: "ready" } });
      full = true;
      expect(await server.send("/readyz")).toMatchObject({
        status: 503,
        headers: { "retry-after": "1" },
        json: {
          error: { code: "overloaded", details: { reasons: ["The queue of events is full."] } },
        },
      });
      expect((await server.send("/healthz")).status).toBe(200);
    } finally {
      await server.stop();
    }
  });
});
