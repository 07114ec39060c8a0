import { describe, expect, it } from "vitest";
import { type AcpSessions, NO_SESSIONS, readMessage, type UsageSample } from "./session-usage.ts";

const usage = (used: unknown, more: object = {}, sessionId: unknown = "s") => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId, update: { sessionUpdate: "usage_update", used, size: 200_000, ...more } },
});
const cost = (amount: number, currency = "USD") => ({ cost: { amount, currency } });
const choice = (value: string) => ({ id: "which", category: "model", type: "select", currentValue: value });

function read(...messages: unknown[]): { samples: UsageSample[]; sessions: AcpSessions } {
  let sessions = NO_SESSIONS;
  const samples: UsageSample[] = [];
  for (const message of messages) {
    const result = readMessage(sessions, message);
    sessions = result.sessions;
    if (result.sample !== undefined) samples.push(result.sample);
  }
  return { samples, sessions };
}

describe("the usage that an agent reports", () => {
  it("is a sample for each new level, also after a fall", () => {
    const { samples } = read(usage(100), usage(100), usage(300), usage(50));
    expect(samples.map(({ tokens }) => tokens)).toEqual([100, 300, 50]);
    expect(samples[0]).toEqual({
      session: "s",
      model: "unknown",
      tokens: 100,
      windowTokens: 200_000,
      costUsd: undefined,
    });
  });

  it("is no sample while the context is empty, whose cost belongs to the next one", () => {
    const start = { result: { sessionId: "s" } };
    const { samples } = read(start, usage(0), usage(100, cost(1)), usage(0, cost(3)), usage(20, cost(4)));
    expect(samples.map(({ tokens, costUsd }) => [tokens, costUsd])).toEqual([
      [100, 1],
      [20, 3],
    ]);
    const resumed = read(usage(0, cost(2)), usage(100, cost(3)));
    expect(resumed.samples.map(({ costUsd }) => costUsd)).toEqual([1]);
  });

  it.each([[-1], ["5"], [null], [1e18], [Number.NaN]])("is no sample of %s", (used) => {
    expect(read(usage(100), usage(used)).samples).toHaveLength(1);
  });

  it("keeps sessions apart", () => {
    const { samples } = read(usage(1), usage(1, {}, "other"), usage(1));
    expect(samples.map(({ session }) => session)).toEqual(["s", "other"]);
  });

  it.each([
    ["a new session from its start", { result: { sessionId: "s" } }, [0.5, 0.25]],
    ["a session from before once its cost is known", undefined, [undefined, 0.25]],
  ])("has the cost of each step: %s", (_, first, costs) => {
    const { samples } = read(first, usage(1, cost(0.5)), usage(2, cost(0.75)));
    expect(samples.map(({ costUsd }) => costUsd)).toEqual(costs);
  });

  it("adds the cost of a level that is repeated to the next one, and ignores other currencies", () => {
    const start = { result: { sessionId: "s" } };
    expect(read(start, usage(1, cost(1)), usage(1, cost(2)), usage(2, cost(3))).samples[1]?.costUsd).toBe(2);
    expect(read(start, usage(1, cost(1, "EUR"))).samples[0]?.costUsd).toBeUndefined();
    expect(read(start, usage(1, cost(2)), usage(2, cost(1))).samples[1]?.costUsd).toBeUndefined();
  });

  it.each([
    ["an option", { result: { sessionId: "s", configOptions: [choice("a")] } }, "a"],
    ["Qwen Code", { result: { sessionId: "s", models: { currentModelId: "b(openai)" } } }, "b"],
    [
      "Qwen Code by variables",
      { result: { sessionId: "s", models: { currentModelId: "$runtime|openai|b(c)(openai)" } } },
      "b(c)",
    ],
    ["an odd name", { result: { sessionId: "s", models: { currentModelId: "(openai)" } } }, "(openai)"],
    ["a list of models", { result: { sessionId: "s", models: { currentModelId: "b" } } }, "b"],
    [
      "a request of the client",
      { method: "session/set_model", params: { sessionId: "s", modelId: "c" } },
      "c",
    ],
  ])("names the model of %s", (_, message, model) => {
    expect(read(message, usage(1)).samples[0]?.model).toBe(model);
  });

  it("follows a change of the option of the model, and no other option", () => {
    const start = { result: { sessionId: "s", configOptions: [{ category: "mode" }, choice("a")] } };
    const set = (configId: string, value: string) => ({
      method: "session/set_config_option",
      params: { sessionId: "s", configId, value },
    });
    const changed = {
      method: "session/update",
      params: {
        sessionId: "s",
        update: { sessionUpdate: "config_option_update", configOptions: [choice("d")] },
      },
    };
    const { samples } = read(
      start,
      set("mode", "x"),
      usage(1),
      set("which", "c"),
      usage(2),
      changed,
      usage(3),
    );
    expect(samples.map(({ model }) => model)).toEqual(["a", "c", "d"]);
  });

  describe("tells of compactions", () => {
    const compaction = (status: unknown, more: object = {}) => ({
      method: "session/update",
      params: {
        sessionId: "s",
        update: { sessionUpdate: "compaction_update", compactionId: "c1", status, ...more },
      },
    });
    it("that are complete", () => {
      expect(readMessage(NO_SESSIONS, compaction("completed", { summary: [] })).compacted).toEqual({
        session: "s",
        id: "c1",
      });
    });
    it.each([
      [compaction("in_progress")],
      [compaction("failed")],
      [compaction("cancelled")],
      [compaction(undefined)],
      [compaction("completed", { compactionId: 7 })],
    ])("and of nothing with %j", (message) => {
      expect(readMessage(NO_SESSIONS, message)).toEqual({ sessions: NO_SESSIONS });
    });
  });

  const completed = {
    method: "session/update",
    params: {
      sessionId: "s",
      update: { sessionUpdate: "compaction_update", compactionId: "c1", status: "completed" },
    },
  };
  const load = { id: 3, method: "session/load", params: { sessionId: "s" } };
  it.each([
    ["a session is loaded", [load], undefined],
    [
      "it is loaded, and the agent asks something under the same id",
      [load, { id: 3, method: "fs/read" }],
      undefined,
    ],
    ["it was loaded", [load, { id: 3, result: {} }], "c1"],
    ["it could not be loaded", [load, { id: 3, error: { code: -1 } }], "c1"],
    ["another session is loaded", [{ ...load, params: { sessionId: "t" } }], "c1"],
  ])("tells of a compaction while %s: %#", (_, messages, id) => {
    expect(readMessage(read(...messages).sessions, completed).compacted?.id).toBe(id);
  });

  it("of Mistral Vibe has no window, because its size is where it compacts", () => {
    const vibe = { result: { agentInfo: { name: "@mistralai/mistral-vibe" } } };
    expect(read(vibe, usage(5)).samples[0]?.windowTokens).toBeUndefined();
  });

  it("without a size has no window", () => {
    expect(read(usage(5, { size: 0 })).samples[0]?.windowTokens).toBeUndefined();
  });

  it.each([
    [usage("9")],
    [usage(-1)],
    [usage(Number.NaN)],
    [usage(1e300)],
    [usage(1, {}, 7)],
    [{ method: "session/update", params: null }],
    [{ method: "session/update", params: { sessionId: "s", update: [] } }],
    [[usage(1)]],
    [null],
    ["usage_update"],
  ])("is nothing if it is %j", (message) => {
    expect(read(message)).toEqual({ samples: [], sessions: NO_SESSIONS });
  });

  it("remembers a bounded number of sessions", () => {
    const many = Array.from({ length: 500 }, (_, index) => usage(1, {}, `s${index}`));
    expect(read(...many).sessions.byId.size).toBeLessThanOrEqual(200);
  });
});
