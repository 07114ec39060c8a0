import { describe, expect, it } from "vitest";
import { filler, words } from "../testing/test-guard.ts";
import { BackgroundWork } from "./background-work.ts";
import { ContextWatcher, PromptIr, type Section } from "./index.ts";

const NEVER = new Promise<string>(() => {});
const LONG_ENOUGH_MS = 60_000;

function section(id: string, tokens: number, over: Partial<Section> = {}): Section {
  return { id, label: id, content: filler(tokens), tokens, priority: "medium", ...over };
}

/** A watcher over its limit whose summariser ignores its signal and never answers. */
function hanging(options: { patienceMs?: number } = {}) {
  const signals: AbortSignal[] = [];
  const errors: unknown[] = [];
  const ir = new PromptIr([section("log", 900)]);
  const watcher = new ContextWatcher(ir, {
    budget: { total: 1_000 },
    tokenizer: words,
    onError: (error) => errors.push(error),
    compact: (_, signal) => {
      signals.push(signal);
      return NEVER;
    },
    ...options,
  });
  return { ir, watcher, signals, errors };
}

describe("a call of the summariser", () => {
  it("ends with its time limit, even if it ignores its signal", async () => {
    const { ir, watcher, signals, errors } = hanging({ patienceMs: 1 });
    expect(await watcher.check()).toMatchObject({ status: "compacted" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(String(errors)).toContain("did not finish within 1 ms");
    expect(ir.get("log")!.stage).toBe("summary");
  });

  it("is aborted by stop, which leaves the prompt as it is", async () => {
    const { ir, watcher, signals, errors } = hanging();
    const checking = watcher.check();
    watcher.stop();
    expect(await checking).toMatchObject({ status: "stopped", compacted: 0 });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(errors).toEqual([]);
    expect(ir.get("log")!.content).toBe(filler(900));
    expect(await Promise.race([watcher.check(), "checked again"])).toBe("checked again");
    watcher.stop();
  });

  it("is aborted when its section is no longer in the prompt, without counting as a failure", async () => {
    const { ir, watcher, signals, errors } = hanging();
    const checking = watcher.check();
    watcher.dropStale();
    expect(signals[0]!.aborted).toBe(false);
    ir.remove("log");
    watcher.dropStale();
    expect(signals[0]!.aborted).toBe(true);
    expect(await checking).toMatchObject({ status: "within" });
    expect(errors).toEqual([]);
  });

  it("keeps the result of one that was not dropped", async () => {
    const work = new BackgroundWork<string>();
    const outcomes = Promise.all([
      work.call("a", LONG_ENOUGH_MS, () => NEVER),
      work.call("b", LONG_ENOUGH_MS, async () => "short"),
      work.call("c", LONG_ENOUGH_MS, () => Promise.reject("unavailable")),
    ]);
    work.drop((key) => key === "a");
    expect(await outcomes).toEqual([
      { kind: "dropped" },
      { kind: "done", value: "short" },
      { kind: "failed", error: "unavailable" },
    ]);
  });
});

it("a fixed section is neither shortened nor left out", async () => {
  const ir = new PromptIr([section("call", 900, { fixed: true }), section("log", 200)]);
  const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, tokenizer: words });
  expect(await watcher.check()).toMatchObject({ status: "exhausted" });
  expect(ir.get("call")!.content).toBe(filler(900));
  expect(ir.get("log")!.stage).toBe("left_out");
});

it("as a last resort keeps the sections, if asked to", async () => {
  const ir = new PromptIr([section("rules", 990, { priority: "critical" }), section("log", 200)]);
  const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, tokenizer: words, lastResort: "keep" });
  expect(await watcher.check()).toMatchObject({ status: "exhausted" });
  expect(ir.get("log")!.stage).toBe("stub");
  watcher.resize({ total: 2_000 });
  expect(await watcher.check()).toMatchObject({ status: "within" });
});
