import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { filler, words } from "../testing.ts";
import {
  ContextWatcher,
  compactionScore,
  limitOf,
  PromptIr,
  planCompaction,
  recencyWeight,
  resolveBudget,
  type Section,
} from "./index.ts";

const NOW = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

function section(id: string, tokens: number, over: Partial<Section> = {}): Section {
  return { id, label: id, content: filler(tokens), tokens, priority: "medium", ...over };
}

describe("defects of the sketch that must not come back", () => {
  it("the half-life of 24 hours is really 16.6", () => {
    expect(recencyWeight(NOW - 24 * HOUR, NOW)).toBeCloseTo(0.5, 12);
    expect(recencyWeight(NOW - 48 * HOUR, NOW)).toBeCloseTo(0.25, 12);
    expect(recencyWeight(NOW, NOW)).toBe(1);
  });

  it("a time in the future gives a weight above one", () => {
    expect(recencyWeight(NOW + 100 * HOUR, NOW)).toBe(1);
  });

  it("a critical section of no relevance is compacted first", () => {
    const critical = section("rules", 500, { priority: "critical", relevance: 0, recency: 0 });
    expect(compactionScore(critical, NOW)).toBe(Number.POSITIVE_INFINITY);
    const plan = planCompaction([critical, section("a", 600)], 1_100, resolveBudget({ total: 1_000 }), NOW);
    expect(plan.map((one) => one.id)).toEqual(["a"]);
  });

  it("an append between reading and writing is lost", async () => {
    const ir = new PromptIr([section("old", 900)]);
    let release = (_: string) => {};
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      compact: () => new Promise((resolve) => (release = resolve)),
    });
    const looking = watcher.look();
    ir.put(section("new", 50));
    expect(await watcher.look()).toMatchObject({ status: "busy" });
    release("short");
    expect(await looking).toMatchObject({ status: "compacted", compacted: 1 });
    expect(ir.get("new")!.tokens).toBe(50);
    expect(ir.total).toBe(51);
  });

  it("a section changed while it was summarised is overwritten by the summary of what it was", async () => {
    const ir = new PromptIr([section("log", 900)]);
    let release = (_: string) => {};
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      compact: () => new Promise((resolve) => (release = resolve)),
    });
    const looking = watcher.look();
    const changed = section("log", 950);
    ir.put(changed);
    release("short");
    expect(await looking).toMatchObject({ status: "overtaken", tokensAfter: 950 });
    expect(ir.get("log")).toBe(changed);
  });

  it("it tries again every second when nothing compactable remains", async () => {
    const compact = vi.fn(() => "x");
    const events: unknown[] = [];
    const ir = new PromptIr([section("rules", 2_000, { priority: "critical" })]);
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      compact,
      onEvent: (event) => events.push(event),
    });
    for (let second = 0; second < 5; second++)
      expect(await watcher.look()).toMatchObject({ status: "exhausted" });
    expect(compact).not.toHaveBeenCalled();
    expect(events).toEqual([]);
    ir.put(section("a", 500));
    expect(await watcher.look()).toMatchObject({ status: "compacted" });
  });

  it("it compacts when the level stands exactly on the limit", async () => {
    const budget = resolveBudget({ total: 1_000, reserveRatio: 0.15 });
    expect(limitOf(budget)).toBe(850);
    const ir = new PromptIr([section("a", 850)]);
    const watcher = new ContextWatcher(ir, { budget, tokenizer: words });
    expect(await watcher.look()).toMatchObject({ status: "within" });
    ir.put(section("b", 1));
    expect(await watcher.look()).toMatchObject({ status: "compacted" });
  });
});

describe("the watcher", () => {
  afterEach(() => vi.useRealTimers());

  it("goes down to the low-water mark, so that the next append needs no compaction", async () => {
    const ir = new PromptIr(
      Array.from({ length: 20 }, (_, at) => section(`s${at}`, 50, { recency: NOW - at * HOUR })),
    );
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000, lowWaterRatio: 0.1 },
      tokenizer: words,
      compact: () => "one two",
      clock: () => NOW,
    });
    expect(await watcher.look()).toMatchObject({ status: "compacted" });
    expect(ir.total).toBeLessThanOrEqual(760);
    expect(ir.total).toBeGreaterThan(550);
    const shortened = ir.sections().filter((one) => one.stage === "summary");
    const oldest = ir.sections().slice(-shortened.length);
    expect(shortened).toEqual(oldest);
    ir.put(section("next", 50));
    expect(await watcher.look()).toMatchObject({ status: "within" });
  });

  it("compresses low before medium before high, and never critical", async () => {
    const order: string[] = [];
    const ir = new PromptIr(
      (["critical", "high", "medium", "low"] as const).map((priority) =>
        section(priority, 300, { priority, relevance: 0.5, recency: NOW }),
      ),
    );
    const watcher = new ContextWatcher(ir, {
      budget: { total: 400 },
      tokenizer: words,
      clock: () => NOW,
      compact: (one) => {
        order.push(one.id);
        return filler(60);
      },
    });
    while ((await watcher.look()).status === "compacted") {}
    expect(order).toEqual(["low", "medium", "high"]);
    expect(ir.get("critical")!.content).toBe(filler(300));
    expect(ir.get("low")!.content).toContain("left out; read it again rather than guess");
  });

  it("prefers parts of the prompt that exceed their allocation", () => {
    const budget = resolveBudget({
      total: 1_000,
      allocation: { system: 0.5, context: 0.6, observation: 0.1 },
    });
    const plan = planCompaction(
      [section("context", 450, { area: "context" }), section("observation", 450, { area: "observation" })],
      900,
      budget,
      NOW,
    );
    expect(plan[0]!.id).toBe("observation");
  });

  it("refuses a summary that is no shorter, and does not ask for it again", async () => {
    const compact = vi.fn(() => filler(900));
    const ir = new PromptIr([section("a", 900)]);
    const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, compact, tokenizer: words });
    for (let round = 0; round < 3; round++)
      expect(await watcher.look()).toMatchObject({ status: "exhausted" });
    expect(compact).toHaveBeenCalledTimes(1);
    expect(ir.total).toBe(900);
  });

  it("survives a summariser that fails", async () => {
    const errors: unknown[] = [];
    const ir = new PromptIr([section("a", 500), section("b", 500)]);
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      compact: async (one) => {
        if (one.id === "a") throw new Error("away");
        return "short";
      },
      onError: (error) => errors.push(error),
    });
    await watcher.look();
    await watcher.look();
    expect(errors).toHaveLength(1);
    expect(ir.total).toBe(501);
  });

  it("tries again when a summariser that was away may be back, and not before", async () => {
    let now = NOW;
    let away = true;
    const ir = new PromptIr([section("a", 900)]);
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      clock: () => now,
      compact: async () => {
        if (away) throw new Error("away");
        return "short";
      },
    });
    expect(await watcher.look()).toMatchObject({ status: "exhausted" });
    away = false;
    now += 59_000;
    expect(await watcher.look()).toMatchObject({ status: "exhausted" });
    now += 1_000;
    expect(await watcher.look()).toMatchObject({ status: "compacted", tokensAfter: 1 });
  });

  it("looks by itself, waits between compactions, and stops", async () => {
    vi.useFakeTimers({ now: NOW });
    const ir = new PromptIr([section("a", 500), section("b", 500), section("c", 500)]);
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      compact: () => "short",
      perRound: 1,
      coolDownMs: 2_500,
    });
    watcher.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ir.total).toBe(1_001);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ir.total).toBe(1_001);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ir.total).toBe(502);
    watcher.stop();
    ir.put(section("d", 900));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ir.total).toBe(1_402);
  });

  it("refuses a budget that cannot be meant", () => {
    expect(() => resolveBudget({ reserveRatio: 15 })).toThrow(
      "budget.reserveRatio must be from 0 to below 1, not 15",
    );
    expect(() => resolveBudget({ total: 0 })).toThrow("budget.total must be positive");
  });
});

describe("under concurrent appends", () => {
  const priority = fc.constantFrom("critical", "high", "medium", "low" as const) as fc.Arbitrary<
    Section["priority"]
  >;
  const append = fc.record({
    tokens: fc.integer({ min: 1, max: 300 }),
    priority,
    relevance: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
    recency: fc.option(fc.integer({ min: NOW - 90 * HOUR, max: NOW }), { nil: undefined }),
  });

  it("keeps the invariant or says that it is exhausted, and loses nothing", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(append, { minLength: 1, maxLength: 40 }),
        async (scheduler, appends) => {
          const ir = new PromptIr();
          const watcher = new ContextWatcher(ir, {
            budget: { total: 2_000 },
            tokenizer: words,
            clock: () => NOW,
            perRound: 3,
            compact: scheduler.scheduleFunction(async (one: Section) => filler(Math.floor(one.tokens / 5))),
          });
          const adding = scheduler.scheduleSequence(
            appends.map((one, at) => async () => {
              ir.put(section(`s${at}`, one.tokens, one));
              void watcher.look();
            }),
          );
          await scheduler.waitFor(adding.task);
          await scheduler.waitFor(settle(watcher));
          expect(ir.size).toBe(appends.length);
          expect(ir.total).toBe(ir.sections().reduce((sum, one) => sum + one.tokens, 0));
          for (const [at, one] of appends.entries()) {
            const now = ir.get(`s${at}`)!;
            if (one.priority === "critical") expect(now.tokens).toBe(one.tokens);
            if (now.stage === undefined) expect(now.content).toBe(filler(one.tokens));
          }
          if (ir.total > limitOf(watcher.budget)) {
            expect(await watcher.look()).toMatchObject({ status: "exhausted" });
            const rest = ir
              .sections()
              .filter((one) => one.priority !== "critical" && one.stage !== "stub" && one.tokens >= 24);
            expect(rest).toEqual([]);
          }
        },
      ),
      { numRuns: 80 },
    );
  });
});

async function settle(watcher: ContextWatcher): Promise<void> {
  for (let round = 0; round < 500; round++) {
    const { status } = await watcher.look();
    if (status === "within" || status === "exhausted") return;
    if (status === "busy") await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
