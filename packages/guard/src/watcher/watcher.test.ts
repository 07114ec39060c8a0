import { afterEach, describe, expect, it, vi } from "vitest";
import { filler, words } from "../testing/test-guard.ts";
import { limitOf, resolveBudget } from "./budget.ts";
import { type Compact, ContextWatcher, PromptIr, type Section } from "./index.ts";
import { planCompaction } from "./plan.ts";
import { compactionScore, expDecay, type Recency, recencyWeight } from "./section.ts";

const NOW = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

function section(id: string, tokens: number, over: Partial<Section> = {}): Section {
  return { id, label: id, content: filler(tokens), tokens, priority: "medium", ...over };
}

describe("defects of the sketch, avoided [W11]", () => {
  it("the half-life is exactly 24 hours [W12]", () => {
    expect(recencyWeight(NOW - 24 * HOUR, NOW)).toBeCloseTo(0.5, 12);
    expect(recencyWeight(NOW - 48 * HOUR, NOW)).toBeCloseTo(0.25, 12);
    expect(recencyWeight(NOW, NOW)).toBe(1);
  });

  it("weighs sections by the formula of the design if asked to [W12]", async () => {
    const old = NOW - 24 * HOUR;
    expect(recencyWeight(old, NOW, expDecay)).toBe(Math.exp(-1));
    expect(recencyWeight(NOW - 12 * HOUR, NOW, expDecay)).toBe(Math.exp(-12 / 24));
    // After two days, exp gives 0.135 and the half-life 0.25, on either side of a relevance of 0.2.
    const sections = [
      section("old", 600, { relevance: 1, recency: NOW - 48 * HOUR }),
      section("new", 600, { relevance: 0.2, recency: NOW }),
    ];
    const first = async (recency?: Recency) => {
      const ir = new PromptIr(sections);
      const compact = vi.fn<Compact>(async () => "short");
      const options = { budget: { total: 1_250 }, compact, perRound: 1, clock: () => NOW, tokenizer: words };
      await new ContextWatcher(ir, { ...options, ...(recency && { recency }) }).check();
      return ir.sections().find(({ content }) => content.includes("short"))?.id;
    };
    expect(await first()).toBe("new");
    expect(await first(expDecay)).toBe("old");
  });

  it("a time in the future weighs 1", () => {
    expect(recencyWeight(NOW + 100 * HOUR, NOW)).toBe(1);
  });

  it("a critical section is never compacted, even without relevance [W14]", () => {
    const critical = section("rules", 500, { priority: "critical", relevance: 0, recency: 0 });
    expect(compactionScore(critical, NOW)).toBe(Number.POSITIVE_INFINITY);
    const plan = planCompaction([critical, section("a", 600)], 1_100, resolveBudget({ total: 1_000 }), NOW);
    expect(plan.map((one) => one.id)).toEqual(["a"]);
  });

  it("an append between reading and writing is kept [W15]", async () => {
    const ir = new PromptIr([section("old", 900)]);
    let release = (_: string) => {};
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      compact: () => new Promise((resolve) => (release = resolve)),
    });
    const checking = watcher.check();
    ir.put(section("new", 50));
    expect(await watcher.check()).toMatchObject({ status: "busy" });
    release("short");
    expect(await checking).toMatchObject({ status: "compacted", compacted: 1 });
    expect(ir.get("new")!.tokens).toBe(50);
    expect(ir.total).toBe(51);
  });

  it("a section that changes while it is summarised is not overwritten", async () => {
    const ir = new PromptIr([section("log", 900)]);
    let release = (_: string) => {};
    const compact = vi.fn(() => new Promise<string>((resolve) => (release = resolve)));
    const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, tokenizer: words, compact });
    const checking = watcher.check();
    ir.put(section("log", 950));
    release("short");
    // The change is kept and the stale summary dropped. Being over the limit, the section is shortened synchronously.
    expect(await checking).toMatchObject({ status: "compacted", compacted: 1 });
    expect(ir.get("log")!.content).toMatch(/^\[log -- first part of 4749 characters\]/);
    expect(compact).toHaveBeenCalledOnce();
  });

  it("nothing is retried while nothing can be compacted", async () => {
    const compact = vi.fn(() => "x");
    const events: unknown[] = [];
    const ir = new PromptIr([section("rules", 2_000, { priority: "critical" })]);
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      compact,
      onEvent: (event) => events.push(event),
    });
    for (let second = 0; second < 5; second++)
      expect(await watcher.check()).toMatchObject({ status: "exhausted", reason: "critical_only" });
    expect(compact).not.toHaveBeenCalled();
    expect(events).toEqual([
      { type: "withheld", response: "compact", reason: "critical_only", context_tokens: 2_000 },
    ]);
    ir.put(section("a", 500));
    expect(await watcher.check()).toMatchObject({ status: "exhausted", compacted: 2 });
    expect(ir.get("a")!.stage).toBe("left_out");
    ir.remove("rules");
    expect(await watcher.check()).toMatchObject({ status: "within" });
    ir.put(section("rules", 2_000, { priority: "critical" }));
    expect(await watcher.check()).toMatchObject({ status: "exhausted" });
    expect(events.map((event) => (event as { type: string }).type)).toEqual([
      "withheld",
      "compacted",
      "withheld",
    ]);
  });

  it("a level exactly at the limit is not compacted", async () => {
    const budget = resolveBudget({ total: 1_000, reserveRatio: 0.15 });
    expect(limitOf(budget)).toBe(850);
    const ir = new PromptIr([section("a", 850)]);
    const watcher = new ContextWatcher(ir, { budget, tokenizer: words });
    expect(await watcher.check()).toMatchObject({ status: "within" });
    ir.put(section("b", 1));
    expect(await watcher.check()).toMatchObject({ status: "compacted" });
  });
});

describe("the watcher", () => {
  afterEach(() => vi.useRealTimers());

  it("compacts to the low-water mark, so that the next append needs no compaction", async () => {
    const ir = new PromptIr(
      Array.from({ length: 20 }, (_, at) => section(`s${at}`, 50, { recency: NOW - at * HOUR })),
    );
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000, lowWaterRatio: 0.1 },
      tokenizer: words,
      compact: () => "one two",
      clock: () => NOW,
    });
    expect(await watcher.check()).toMatchObject({ status: "compacted" });
    expect(ir.total).toBeLessThanOrEqual(760);
    expect(ir.total).toBeGreaterThan(550);
    const shortened = ir.sections().filter((one) => one.stage === "summary");
    const oldest = ir.sections().slice(-shortened.length);
    expect(shortened).toEqual(oldest);
    ir.put(section("next", 50));
    expect(await watcher.check()).toMatchObject({ status: "within" });
  });

  it("compresses low before medium before high, and never critical [W3]", async () => {
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
    while ((await watcher.check()).status === "compacted") {}
    expect(order).toEqual(["low", "medium", "high"]);
    expect(ir.get("critical")!.content).toBe(filler(300));
    expect(ir.get("low")!.content).toContain("left out; read it again rather than guess");
  });

  it("prefers parts of the prompt that exceed their allocation [W8]", () => {
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

  it("refuses an empty or longer summary, and does not ask for it again", async () => {
    for (const useless of [filler(900), " "]) {
      const compact = vi.fn(() => useless);
      const ir = new PromptIr([section("a", 900)]);
      const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, compact, tokenizer: words });
      expect(await watcher.check()).toMatchObject({ status: "compacted" });
      expect(await watcher.check()).toMatchObject({ status: "within" });
      expect(compact).toHaveBeenCalledTimes(1);
      expect(ir.get("a")!.content).toMatch(/^\[a -- /);
    }
  });

  it("uses the built-in summary when the summariser throws, rejects or times out", async () => {
    const failing: Compact[] = [
      () => {
        throw new Error("unavailable");
      },
      () => Promise.reject(new Error("unavailable")),
      () => new Promise(() => {}),
    ];
    for (const compact of failing) {
      const errors: unknown[] = [];
      const texts = new Map<string, string>();
      const ir = new PromptIr([section("a", 500), section("b", 500)]);
      const watcher = new ContextWatcher(ir, {
        budget: { total: 1_000 },
        tokenizer: words,
        patienceMs: 20,
        compact,
        store: { put: (id, text) => void texts.set(id, text), get: (id) => texts.get(id) },
        onError: (error) => errors.push(error),
      });
      expect(await watcher.check()).toMatchObject({ status: "compacted", compacted: 1 });
      expect(errors).toHaveLength(1);
      expect(ir.total).toBeLessThanOrEqual(850);
      expect(ir.get("a")!.content).toMatch(/^\[a -- first part of 2499 characters\]/);
      expect(watcher.recall("a")).toBe(filler(500));
      expect(watcher.recall("b")).toBeUndefined();
    }
  });

  it("does not call a failed summariser twice for the same section, even if the clock runs backwards", async () => {
    const ir = new PromptIr([section("a", 500), section("b", 600)]);
    let now = NOW;
    const compact = vi.fn(async () => {
      if (compact.mock.calls.length > 9) return "given up";
      throw new Error("unavailable");
    });
    const watcher = new ContextWatcher(ir, {
      budget: { total: 500 },
      tokenizer: words,
      compact,
      clock: () => (now -= HOUR),
    });
    expect(await watcher.check()).toMatchObject({ status: "compacted" });
    expect(compact).toHaveBeenCalledTimes(2);
    expect(ir.total).toBeLessThanOrEqual(425);
  });

  it("uses the built-in summary, not a stub, if the summary is longer than the section", async () => {
    const ir = new PromptIr([section("a", 900)]);
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      compact: () => filler(901),
    });
    await watcher.check();
    expect(ir.get("a")!.content).toMatch(/^\[a -- first part of 4499 characters\]/);
  });

  it("handles appends that cross the limit while it waits for a summary", async () => {
    const ir = new PromptIr([section("a", 430), section("b", 430)]);
    let waits = false;
    let release = (_: string) => {};
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000, lowWaterRatio: 0.5 },
      tokenizer: words,
      perRound: 1,
      compact: () => (waits ? new Promise((resolve) => (release = resolve)) : filler(300)),
    });
    expect(await watcher.check()).toMatchObject({ status: "compacted", tokensAfter: 730 });
    waits = true;
    const checking = watcher.check();
    ir.put(section("b", 440));
    for (let at = 0; at < 14; at++) ir.put(section(`s${at}`, 100));
    waits = false;
    release("short");
    expect(await checking).toMatchObject({ status: "compacted" });
    expect(ir.total).toBeLessThanOrEqual(850);
  });

  it("removes the note on left-out sections when none is left out", async () => {
    const ir = new PromptIr([section("rules", 820, { priority: "critical" })]);
    for (let at = 0; at < 5; at++) ir.put(section(`s${at}`, 20));
    const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, tokenizer: words });
    expect(await watcher.check()).toMatchObject({ status: "compacted" });
    expect(ir.get("watcher:left-out")).toBeDefined();
    for (let at = 0; at < 5; at++) ir.remove(`s${at}`);
    ir.put(section("rules", 845, { priority: "critical" }));
    expect(await watcher.check()).toMatchObject({ status: "within", tokensAfter: 845 });
    expect(ir.get("watcher:left-out")).toBeUndefined();
  });

  it("calls a failed summariser again after one minute, not earlier, whatever the clock does", async () => {
    let now = NOW;
    const asked: string[] = [];
    const ir = new PromptIr();
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000 },
      tokenizer: words,
      clock: () => now,
      compact: async ({ id }) => {
        asked.push(id);
        if (id === "a") throw new Error("unavailable");
        return "short";
      },
    });
    for (const [id, wait] of [
      ["a", 0],
      ["b", 59_000],
      ["c", 1_000],
    ] as const) {
      now += wait;
      ir.put(section(id, 900));
      expect(await watcher.check()).toMatchObject({ status: "compacted" });
      expect(ir.total).toBeLessThanOrEqual(850);
    }
    expect(asked).toEqual(["a", "c"]);
    ir.put(section("a", 900));
    await watcher.check();
    now -= 3_600_000;
    ir.put(section("d", 900));
    await watcher.check();
    expect(asked).toEqual(["a", "c", "a", "d"]);
  });

  it("leaves out even small sections, and says so in one line", async () => {
    const ir = new PromptIr([section("rules", 700, { priority: "critical" })]);
    for (let at = 0; at < 100; at++) ir.put(section(`s${at}`, 20, { recency: NOW - at * HOUR }));
    const watcher = new ContextWatcher(ir, { budget: { total: 1_000 }, tokenizer: words, clock: () => NOW });
    expect(await watcher.check()).toMatchObject({ status: "compacted" });
    expect(ir.total).toBeLessThanOrEqual(850);
    const left = ir.sections().filter(({ stage }) => stage === "left_out");
    expect(left.length).toBeGreaterThan(90);
    expect(left).toEqual(ir.sections().slice(-left.length - 1, -1));
    expect(ir.sections().at(-1)!.content).toBe(
      `[${left.length} sections left out: s95, s96, s97, s98, s99 and others; read them again rather than guess]`,
    );
  });

  it("checks in the background, cools down only between low-water mark and limit, and stops [W1]", async () => {
    vi.useFakeTimers({ now: NOW });
    const ir = new PromptIr(Array.from({ length: 9 }, (_, at) => section(`s${at}`, 100)));
    const watcher = new ContextWatcher(ir, {
      budget: { total: 1_000, lowWaterRatio: 0.35 },
      tokenizer: words,
      compact: () => "short",
      perRound: 1,
      coolDownMs: 2_500,
    });
    watcher.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ir.total).toBe(801);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ir.total).toBe(801);
    ir.put(section("x", 250));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ir.total).toBe(754);
    await vi.advanceTimersByTimeAsync(12_000);
    expect(ir.total).toBeLessThanOrEqual(500);
    watcher.stop();
    ir.put(section("d", 900));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ir.total).toBeGreaterThan(900);
  });

  it("refuses an invalid budget", () => {
    expect(() => resolveBudget({ reserveRatio: 15 })).toThrow(
      "budget.reserveRatio must be at least 0 and below 1, not 15",
    );
    expect(() => resolveBudget({ total: 0 })).toThrow("budget.total must be a positive number, not 0");
  });
});
