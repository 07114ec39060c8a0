import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filler, words } from "../testing/test-guard.ts";
import { limitOf } from "./budget.ts";
import { ContextWatcher, PromptIr, type Section, type WatchResult } from "./index.ts";

const NOW = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

function section(id: string, tokens: number, over: Partial<Section> = {}): Section {
  return { id, label: id, content: filler(tokens), tokens, priority: "medium", ...over };
}

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

  it("after each check the level is within the limit, or only critical sections remain [W7]", async () => {
    const step = fc.record({
      appends: fc.array(append, { maxLength: 4 }),
      /** Index of an existing section to change. */
      changes: fc.option(fc.nat(60), { nil: undefined }),
      summariser: fc.constantFrom<Summariser>(
        "short",
        "long",
        "nothing",
        "empty",
        "throws",
        "rejects",
        "late",
      ),
      /** Clock change in ms: forwards, backwards or none. */
      clock: fc.constantFrom(0, 1_000, 61_000, -3_600_000, 86_400_000),
    });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.record({
          coolDownMs: fc.constantFrom(0, 5_000),
          perRound: fc.constantFrom(1, 3, undefined),
          reserveRatio: fc.constantFrom(0, 0.15, 0.5),
        }),
        async (scheduler, steps, { reserveRatio, perRound, coolDownMs }) => {
          const ir = new PromptIr();
          const given = new Map<string, string>();
          const texts = new Map<string, string>();
          let now = NOW;
          let mood: Summariser = "short";
          const answer = scheduler.scheduleFunction(async (one: Section) => answerOf(mood, one));
          const checks: Promise<void>[] = [];
          const watcher = new ContextWatcher(ir, {
            budget: { total: 1_500, reserveRatio },
            tokenizer: words,
            clock: () => now,
            patienceMs: 5,
            coolDownMs,
            ...(perRound === undefined ? {} : { perRound }),
            compact: (one) => {
              if (mood === "throws") throw new Error("unavailable");
              if (mood === "late") return new Promise(() => {});
              const rejects = mood === "rejects";
              return answer(one).then((text) => (rejects ? Promise.reject(new Error("unavailable")) : text));
            },
            store: { put: (id, text) => void texts.set(id, text), get: (id) => texts.get(id) },
          });
          const put = (one: Section) => {
            given.set(one.id, one.content);
            ir.put(one);
          };
          const settled = ({ status, reason, tokensAfter }: WatchResult) => {
            seen.add(status);
            if (status === "busy") return;
            const over = tokensAfter > limitOf(watcher.budget);
            expect(over).toBe(status === "exhausted");
            expect(reason).toBe(over ? "critical_only" : undefined);
            // A section may be appended between the end of a check and this callback.
            if (!over || ir.total !== tokensAfter) return;
            const open = ir
              .sections()
              .filter((one) => one.priority !== "critical" && one.stage !== "left_out");
            expect(open).toEqual([]);
          };
          const changing = scheduler.scheduleSequence(
            steps.map(({ appends, changes, summariser, clock }, at) => async () => {
              mood = summariser;
              now += clock;
              for (const [n, one] of appends.entries()) {
                put({ ...section(`${at}.${n}`, one.tokens, one), content: filler(one.tokens, `${at}.${n}`) });
              }
              const known = [...given.keys()];
              if (changes !== undefined && known.length > 0) {
                const id = known[changes % known.length]!;
                put(section(id, 40 + changes, { content: filler(40 + changes, `changed${at}`) }));
              }
              // Start a check that overlaps the next step.
              checks.push(watcher.check().then(settled));
            }),
          );
          await scheduler.waitFor(changing.task);
          await scheduler.waitFor(calm(watcher, settled));
          await Promise.all(checks);
          expect(ir.total).toBe(ir.sections().reduce((sum, one) => sum + one.tokens, 0));
          for (const [id, content] of given) {
            const one = ir.get(id)!;
            const full = one.stage === undefined || one.stage === "full";
            if (one.priority === "critical") expect(full).toBe(true);
            // Each text is complete, either in the prompt or in the store.
            expect(full ? one.content : watcher.recall(id)).toBe(content);
            seen.add(one.stage ?? "full");
          }
        },
      ),
      // So many that none of the rarer outcomes below is left out by chance.
      { numRuns: 300 },
    );
    for (const kind of [
      "within",
      "compacted",
      "exhausted",
      "busy",
      "cooling",
      "full",
      "summary",
      "stub",
      "left_out",
    ])
      expect([...seen]).toContain(kind);
  });
});

type Summariser = "short" | "long" | "nothing" | "empty" | "throws" | "rejects" | "late";

async function answerOf(mood: Summariser, one: Section): Promise<string | undefined> {
  if (mood === "nothing") return undefined;
  if (mood === "empty") return "";
  return filler(mood === "long" ? one.tokens + 1 : Math.floor(one.tokens / 5));
}

async function calm(watcher: ContextWatcher, settled: (result: WatchResult) => void): Promise<void> {
  for (let round = 0; round < 500; round++) {
    const result = await watcher.check();
    settled(result);
    if (["within", "exhausted", "cooling"].includes(result.status)) return;
    if (result.status === "busy") await new Promise((resolve) => setTimeout(resolve, 0));
  }
  throw new Error("never came to rest");
}
