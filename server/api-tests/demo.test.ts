import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { DemoView, KeyView, SessionDetail } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { makeKey } from "./support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const view = () => server.trpc<DemoView>("demo.get");
const demoKeys = async () => {
  const { keys } = await server.trpc<{ keys: KeyView[] }>("keys.list");
  return keys.filter(({ name }) => name === "demo fleet");
};

describe("the demo fleet", () => {
  it("is refused to whoever is no administrator", async () => {
    const read = await makeKey(server, "read", "ingest", "policy:write");
    for (const [authorization, status] of [
      [`Bearer ${read.secret}`, 403],
      ["", 401],
    ] as const) {
      const headers = { authorization, "content-type": "application/json" };
      for (const procedure of ["start", "stop"]) {
        const init = { method: "POST", body: "{}", headers };
        expect((await server.request(`/api/trpc/demo.${procedure}`, init)).status).toBe(status);
      }
      expect((await server.request("/api/trpc/demo.get", { headers })).status).toBe(status);
    }
    expect((await view()).state).toBe("idle");
    expect(await demoKeys()).toEqual([]);
  });

  it("runs the examples for as long as it is asked to, records what they did, and leaves no key that works", async () => {
    expect((await server.mutate<DemoView>("demo.start", { minutes: 0.5 })).state).toBe("starting");
    await expect(server.mutate("demo.start")).rejects.toThrow("409");
    await until(async () => (await view()).ended_at !== null, 120_000);
    const { state, failure, examples } = await view();
    expect({ state, failure }).toEqual({ state: "finished", failure: null });
    for (const { name, events, sessions } of examples) {
      expect(events, name).toBeGreaterThan(20);
      expect(sessions.length, name).toBeGreaterThan(0);
      for (const { id, session } of sessions) {
        const detail = await server.trpc<SessionDetail>("sessions.get", { id });
        expect(detail.session).toMatchObject({ session, harness: `${name}@demo` });
        const unexplained = detail.boundaries.filter(({ type }) => type === "unexplained");
        // Only the worker whose model server truncates falls without an event.
        if (detail.session.title === "worker-2") expect(unexplained.length).toBeGreaterThan(0);
        else expect(unexplained, `${name} ${session}`).toEqual([]);
      }
    }
    await until(async () => (await demoKeys()).every(({ revoked_at }) => revoked_at !== null));
    expect(await demoKeys()).toMatchObject([{ scopes: ["ingest", "policy:read"] }]);
    await server.expectHealthy();
  });

  it("is stopped on request, and its process ends with the server", async () => {
    const phantom = async () => (await view()).examples[0]!;
    await server.mutate("demo.start");
    await until(async () => (await phantom()).state === "running");
    expect(await server.mutate<DemoView>("demo.stop")).toMatchObject({ state: "stopped", failure: null });
    expect((await demoKeys()).map(({ revoked_at }) => revoked_at !== null)).toEqual([true, true]);

    await server.mutate("demo.start");
    await until(async () => (await phantom()).state === "running");
    const { pid } = server;
    const children = await childrenOf(pid);
    expect(children).toHaveLength(1);
    expect(await server.stop()).toBe(0);
    expect(() => process.kill(children[0]!, 0)).toThrow("ESRCH");
  });
});

/** Ids of the processes that a process started itself. */
async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([own]) => own!);
}
