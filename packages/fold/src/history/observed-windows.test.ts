import { familyOf } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainName } from "./models.ts";
import { addSize, CONTESTED_DAYS, MOST_SIZES, type ObservedSize, settledSize } from "./observed-size.ts";
import { MOST_OBSERVED, ObservedWindows } from "./observed-windows.ts";

const size = (tokens: number, day = 100, witnesses = 1): ObservedSize => ({ tokens, day, witnesses });
const sizes = (...all: ObservedSize[]) => all.reduce(addSize, [] as readonly ObservedSize[]);

describe("the size that holds", () => {
  it.each<[what: string, sizes: readonly ObservedSize[], tokens: number | undefined]>([
    ["of none is unknown", [], undefined],
    ["is the one that was reported", sizes(size(200_000)), 200_000],
    ["of two within a week is the smaller", sizes(size(200_000, 100), size(1_000_000, 106)), 200_000],
    [
      "is the new one once the other is not reported for a week",
      sizes(size(200_000, 100), size(1_000_000, 107)),
      1_000_000,
    ],
    ["falls at once", sizes(size(1_000_000, 100), size(200_000, 100)), 200_000],
    ["is unknown if it differs by session", sizes(size(1), size(2), size(3), size(4)), undefined],
    ["is known again after that", sizes(size(1), size(2), size(3), size(4), size(5, 107)), 5],
  ])("%s", (_, reported, tokens) => {
    expect(settledSize(reported)).toBe(tokens);
  });

  it("does not depend on the order or the number of reports", () => {
    const report = fc.record({
      tokens: fc.integer({ min: 1, max: 8 }),
      day: fc.integer({ min: 0, max: 20 }),
      witnesses: fc.constant(1),
    });
    fc.assert(
      fc.property(
        fc.array(report, { maxLength: 40 }),
        fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
        (reports, dice) => {
          const shuffled = reports
            .flatMap((one, index) => [one, one].slice(dice[index]! % 2))
            .map((one, index) => ({ one, rank: dice[index % 40]! }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ one }) => one);
          expect(sizes(...shuffled)).toEqual(sizes(...reports));
          expect(sizes(...reports).length).toBeLessThanOrEqual(MOST_SIZES);
        },
      ),
    );
  });

  it("is never larger than what was reported in the last week", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 9 })), { minLength: 1 }),
        (all) => {
          const newest = Math.max(...all.map(([, day]) => day));
          const recent = all.filter(([, day]) => day > newest - CONTESTED_DAYS).map(([tokens]) => tokens);
          expect(settledSize(sizes(...all.map(([tokens, day]) => size(tokens, day))))).toBe(
            Math.min(...recent),
          );
        },
      ),
    );
  });
});

const report = (harness: string, model: string, ...all: ObservedSize[]) => [{ harness, model, sizes: all }];

describe("what a project learned", () => {
  it("serves the harnesses of the family, in every spelling of the model", () => {
    const observed = new ObservedWindows();
    observed.learn(report("one@a", "new-model-1.5", size(50_000)));
    for (const model of ["new-model-1.5", "vendor/new-model-1-5", "us.anthropic.new-model-1-5-20260901-v1:0"])
      expect(observed.ask("one@b", model)).toBe(50_000);
    expect(observed.ask("one", "new-model-1.6")).toBeUndefined();
  });
  it("prefers the size of the spelling that was asked for", () => {
    const observed = new ObservedWindows();
    observed.learn(report("one", "copilot/m", size(64_000)));
    observed.learn(report("one", "m", size(200_000)));
    expect(observed.ask("one", "copilot/m")).toBe(64_000);
    expect(observed.ask("one", "m")).toBe(200_000);
    expect(observed.ask("one", "other/m")).toBe(64_000);
  });
  it("beats the catalog only for the harness that reported it, because a harness may cap its windows", () => {
    const observed = new ObservedWindows();
    observed.learn(report("copilot@a", "claude-sonnet-5-5", size(64_000)));
    expect(observed.ask("copilot@b", "claude-sonnet-5-5")).toBe(64_000);
    expect(observed.ask("claude-code@b", "claude-sonnet-5-5")).toBeUndefined();
  });
  it("is never larger than the catalog's: a session with [1m] reports its size under the bare name", () => {
    const observed = new ObservedWindows();
    observed.learn(report("claude-code@a", "claude-sonnet-4-5", size(1_000_000)));
    expect(observed.ask("claude-code@b", "claude-sonnet-4-5")).toBeUndefined();
    observed.learn(report("claude-code@a", "claude-sonnet-4-5", size(150_000)));
    expect(observed.ask("claude-code@b", "claude-sonnet-4-5")).toBe(150_000);
  });
  it("serves other harnesses if the catalog has no size and all agree", () => {
    const observed = new ObservedWindows();
    observed.learn(report("one", "new-model", size(50_000)));
    expect(observed.ask("three", "new-model")).toBe(50_000);
    observed.learn(report("two", "new-model", size(50_000)));
    expect(observed.ask("three", "new-model")).toBe(50_000);
    expect(observed.learn(report("two", "new-model", size(60_000, 107)))).toEqual(
      new Map([["three", ["new-model"]]]),
    );
    expect(observed.ask("three", "new-model")).toBeUndefined();
    expect(observed.ask("one", "new-model")).toBe(50_000);
  });
  it("does not carry what Ollama loaded to another harness, nor a size against the name", () => {
    const observed = new ObservedWindows();
    observed.learn(report("one", "qwen3:8b", size(8_192)));
    observed.learn(report("one", "new-model[1m]", size(200_000)));
    expect(observed.ask("one", "qwen3:8b")).toBe(8_192);
    expect(observed.ask("two", "qwen3:8b")).toBeUndefined();
    expect(observed.ask("one", "new-model[1m]")).toBeUndefined();
    expect(observed.ask("one", "new-model")).toBeUndefined();
  });
  it("names a model once whose answer changes, and none that nobody asked for", () => {
    const observed = new ObservedWindows();
    expect(observed.learn(report("one", "m-1", size(10)))).toEqual(new Map());
    observed.ask("one", "m-1");
    observed.ask("one", "v/m-1");
    expect(observed.learn(report("one", "m-1", size(20), size(10, 101)))).toEqual(new Map());
    expect(observed.learn(report("one", "m-1", size(5)))).toEqual(new Map([["one", ["m-1", "v/m-1"]]]));
    expect(observed.learn(report("one", "m-1", size(5)))).toEqual(new Map());
  });
  it("goes on after a restart as if there had been none", () => {
    const rows = new Map<string, ReturnType<ObservedWindows["takeChanges"]>[number]>();
    const first = new ObservedWindows();
    const save = (observed: ObservedWindows) => {
      for (const row of observed.takeChanges()) rows.set(`${row.harness} ${row.model}`, row);
    };
    first.ask("one", "m-1");
    first.learn(report("two", "v/m-1", size(10)));
    save(first);
    const second = new ObservedWindows([...rows.values()]);
    expect(second.takeChanges()).toEqual([]);
    expect(second.ask("one", "m-1")).toBe(10);
    expect(second.learn(report("one", "m-1", size(10)))).toEqual(new Map());
    expect(second.learn(report("one", "m-1", size(7)))).toEqual(new Map([["one", ["m-1"]]]));
    save(second);
    expect(new ObservedWindows([...rows.values()]).read("one", "m-1")).toBe(7);
  });
  it("is bounded: a model too many has no answer, because its turns could not be folded again", () => {
    const observed = new ObservedWindows();
    for (let n = 0; n < MOST_OBSERVED; n++) observed.learn(report("one", `m-x${n}`, size(10)));
    observed.learn(report("one", "one-too-many", size(10)));
    expect(observed.ask("one", "one-too-many")).toBeUndefined();
    expect(observed.ask("one", "m-x1")).toBe(10);
    expect(observed.ask("two", "m-x1")).toBeUndefined();
  });
  it("gives readers of the stored rows the size that the turns got", () => {
    const harness = fc.constantFrom("one@a", "One@b", "two", "three");
    const model = fc.constantFrom(
      "m-1",
      "M-1",
      "m.1",
      "v/m-1",
      "m-1-2026-11-20",
      "m-2",
      "v/m-2",
      "qwen3:8b",
      "n[1m]",
    );
    const learn = fc.record({
      harness,
      model,
      tokens: fc.integer({ min: 1, max: 6 }),
      day: fc.integer({ min: 100, max: 110 }),
    });
    const room = fc.oneof(fc.constant(MOST_OBSERVED), fc.integer({ min: 0, max: 12 }));
    const step = fc.oneof(fc.record({ harness, model }), learn);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), room, (steps, left) => {
        const observed = new ObservedWindows();
        for (let n = left; n < MOST_OBSERVED; n++) observed.learn(report("full", `x-${n}`, size(10)));
        const turns = new Map<string, [harness: string, model: string, answer: number | undefined]>();
        const fold = (by: string, name: string) =>
          turns.set(`${by} ${name}`, [by, name, observed.ask(by, name)]);
        for (const one of steps) {
          if (!("tokens" in one)) {
            fold(one.harness, one.model);
            continue;
          }
          const outdated = observed.learn(report(one.harness, one.model, size(one.tokens, one.day)));
          for (const [by, name] of turns.values())
            if (outdated.get(familyOf(by))?.some((changed) => plainName(changed) === plainName(name)))
              fold(by, name);
        }
        const stored = new ObservedWindows(observed.takeChanges());
        for (const [by, name, answer] of turns.values()) {
          expect(stored.read(by, name)).toBe(answer);
          expect(stored.ask(by, name)).toBe(answer);
        }
      }),
    );
  });
});
