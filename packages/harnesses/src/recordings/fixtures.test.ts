import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Format } from "../recordings.ts";
import { createReader, detectFormat } from "../recordings.ts";
import { FIXTURES, foldEvents, hasFixtures, levels, readAll } from "../testing/fold.ts";

const options = { harness: "test@host", titles: true };

function recording(path: string) {
  const lines = readFileSync(join(FIXTURES, path), "utf8").split("\n").filter(Boolean);
  return { path, lines };
}

function read(format: Format, ...paths: string[]) {
  return readAll(createReader(format, options), paths.map(recording));
}

const agentdRuns = hasFixtures
  ? readdirSync(join(FIXTURES, "agentd")).filter((name) => name.endsWith(".jsonl"))
  : [];

describe.skipIf(!hasFixtures)("real recordings", () => {
  it("detects the format of every recording", () => {
    for (const name of agentdRuns) {
      expect(recording(`agentd/${name}`).lines.map(detectFormat).find(Boolean)).toBe("agentd");
    }
    expect(recording("claude-code/sidechain.jsonl").lines.map(detectFormat).find(Boolean)).toBe(
      "claude-code",
    );
  });

  it("early-needle--none exceeds its budget: 5,115 of 2,000, not clamped", () => {
    const { events } = read("agentd", "agentd/early-needle--none--unguided-s1.jsonl");
    const [agent] = foldEvents(events).values();
    expect(agent!.summary.peak).toMatchObject({ tokens: 5_115, windowTokens: 2_000 });
    expect(agent!.summary.peakUtilization).toBeCloseTo(2.5575, 4);
    expect(levels(agent)).toEqual([1430, 2096, 2227, 2704, 3195, 3667, 4166, 4650, 5115]);
    expect(agent!.inferred.size).toBe(0);
    expect(events.find((event) => event.type === "session" && event.status === "started")).toMatchObject({
      title: "early-needle (none)",
    });
  });

  it("distractor-update--stack has 23 boundaries with the levels of the turns around them", () => {
    const { events } = read("agentd", "agentd/distractor-update--stack--guided-s1.jsonl");
    const masked = events.filter((event) => event.type === "masked");
    expect(masked).toHaveLength(23);
    const [agent] = foldEvents(events).values();
    expect([...agent!.marks.values()].filter((mark) => mark.tokensAfter !== undefined)).toHaveLength(23);
    expect(agent!.inferred.size).toBe(0);
    for (const mark of agent!.marks.values()) {
      expect(levels(agent)).toContain(mark.tokensBefore);
      expect(levels(agent)).toContain(mark.tokensAfter);
    }
  });

  it("generation-offload has a separate window for the nested inference", () => {
    const { events } = read("agentd", "agentd/generation-offload--tool-guided.jsonl");
    const folds = foldEvents(events);
    const run = "ad606cae-b9dd-44e8-a05b-a1438293cbfa";
    expect(levels(folds.get(`${run} main`))).toEqual([1439, 2762]);
    expect(levels(folds.get(`${run} infer-2`))).toEqual([208]);
    expect(folds.get(`${run} infer-2`)!.state.model).toBe("openai/gpt-4o-mini");
    expect(folds.get(`${run} main`)!.state.windowSource).toBe("unknown");
    expect(events.find((event) => event.agent === "infer-2")).toMatchObject({ parent_agent: "main" });
  });

  it("claude-code: the sub-agent is counted once and does not change the main agent's level", () => {
    const { events, skipped } = read("claude-code", "claude-code/sidechain.jsonl");
    const folds = [...foldEvents(events)];
    const main = folds.find(([key]) => key.endsWith(" main"))![1];
    const others = folds.filter(([key]) => !key.endsWith(" main"));
    expect(levels(main)).toEqual([141_275, 144_227]);
    expect(others.map(([, fold]) => levels(fold))).toEqual([[19_833]]);
    expect(skipped.repeated).toBe(1);
  });

  const cases: [Format, string][] = [
    ["claude-code", "claude-code/sidechain.jsonl"],
    ["agentd", "agentd/tangent-return--mark-sweep.jsonl"],
    ["agentd", "agentd/generation-offload--tool-guided.jsonl"],
    ["agentd", "agentd/early-needle--stack--guided-s1.jsonl"],
  ];
  it.each(cases)("%s: shuffled and repeated lines of %s give the same fold", (format, path) => {
    const file = recording(path);
    const straight = foldEvents(readAll(createReader(format, options), [file]).events);
    const order = fc.shuffledSubarray(
      file.lines.map((_, index) => index),
      { minLength: file.lines.length },
    );
    fc.assert(
      fc.property(
        order,
        fc.array(fc.nat(file.lines.length - 1)),
        fc.integer({ min: 1, max: 7 }),
        (...drawn) => {
          const [shuffled, doubled, chunk] = drawn;
          const lines = [...shuffled, ...doubled].map((index) => file.lines[index]!);
          const reader = createReader(format, options);
          for (let at = 0; at < lines.length; at += chunk) {
            for (const line of lines.slice(at, at + chunk)) reader.read(line, file);
          }
          expect(foldEvents(reader.take(true).events)).toEqual(straight);
        },
      ),
      { numRuns: 40 },
    );
  });
});
