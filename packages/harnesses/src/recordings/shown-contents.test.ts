import { estimateTokens } from "@plimsoll/guard/measure";
import { TurnContents } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createReader, SHOWING } from "../recordings.ts";
import { HARNESSES } from "../registry.ts";
import { CONVERSATIONS, type ConversationSample, LEVELS, SAID } from "../testing/texts.ts";

const SHOWN = CONVERSATIONS.map(
  (sample) => [`${sample.format} ${sample.files(false)[0]!.path}`, sample] as const,
);

function read(sample: ConversationSample, isCompacted: boolean, order = (lines: readonly object[]) => lines) {
  const reader = createReader(sample.format, { harness: "h", titles: false });
  for (const { path, lines } of sample.files(isCompacted))
    for (const line of order(lines)) reader.read(JSON.stringify(line), { path });
  const { events } = reader.take(true);
  return { events, contents: reader.contents!() };
}

/** What every family records. mini-SWE-agent runs commands alone. */
const toolOf = ({ format }: ConversationSample) => (format === "mini-swe-agent" ? "bash" : "read");

describe("what fills a window, of one conversation in each family", () => {
  it.each(SHOWN)("%s: is what the second call was sent", (_, sample) => {
    const [held] = read(sample, false).contents;
    expect(held).toMatchObject({ agent: undefined, turn: 2, level: LEVELS[1] });
    const kinds = new Map(held!.items.map((item) => [item.kind, item]));
    expect(held!.items).toHaveLength(kinds.size);
    expect(
      [...kinds.keys()].filter((kind) => !/^(system|tool_definition|thinking)$/.test(kind)).sort(),
    ).toEqual([...["assistant", "tool_call", "tool_result", "user"]]);
    expect(kinds.get("tool_result")).toMatchObject({ tool: toolOf(sample), turn: 2 });
    expect(kinds.get("user")).toMatchObject({ turn: 1, text: SAID.prompt });
    const sum = held!.items.reduce((all, { tokens }) => all + tokens, 0);
    expect(sum + held!.rest).toBe(held!.level);
  });

  it.each(SHOWN)("%s: is measured alike", (_, sample) => {
    const [held] = read(sample, false).contents;
    const tokens = held!.items.find(({ kind }) => kind === "tool_result")!.tokens;
    const prompt = held!.items.find(({ kind }) => kind === "user")!.tokens;
    const expected = estimateTokens(SAID.result) / estimateTokens(SAID.prompt);
    expect(Math.abs(tokens / prompt / expected - 1)).toBeLessThan(0.12);
  });

  it.each(SHOWN)("%s: has thinking where the registry says so", (_, sample) => {
    const { contents } = HARNESSES[sample.format];
    const [held] = read(sample, false).contents;
    const isSaid = typeof contents === "string" && contents.split(" | ")[1] === "yes";
    expect(held!.items.some(({ kind }) => kind === "thinking")).toBe(isSaid);
  });

  it.each(SHOWN)("%s: goes with the latest turn, as sums without a text or a file", (_, sample) => {
    const { events } = read(sample, false);
    const turns = events.filter((event) => event.type === "turn");
    const [first, second] = turns.sort((a, b) => a.at - b.at);
    expect(first?.contents).toBeUndefined();
    const sent = TurnContents.parse(second?.contents);
    expect(sent.parts[0]).toMatchObject({ kind: "tool", tool: toolOf(sample), count: 1 });
    expect(sent.largest[0]).toMatchObject({ kind: "tool", at: second!.at });
    expect(second?.composition?.tool_output).toBeGreaterThan(1_000);
    expect(JSON.stringify(events)).not.toMatch(/load|divides|Find out/);
  });

  it.each(SHOWN.filter(([, { format }]) => format !== "amp" && format !== "mini-swe-agent"))(
    "%s: has nothing of before a compaction, but what the recording shows",
    (_, sample) => {
      const { events, contents } = read(sample, true);
      const [held] = contents;
      expect(held).toMatchObject({ turn: 3, level: LEVELS[2] });
      const kinds = new Set(held!.items.map(({ kind }) => kind));
      expect(kinds.has("tool_result") || kinds.has("user")).toBe(false);
      const compacted = events.find(({ type }) => type === "compacted");
      const isSaid = HARNESSES[sample.format].recordings.showsSummaries === true;
      // The prompt is in the summary, the rule and the file are not.
      const lost = { rule: { verbatim: 0, near: 0, absent: 1 }, file: { verbatim: 0, near: 0, absent: 1 } };
      expect(compacted).toMatchObject(
        isSaid
          ? { survived: { ...lost, prompt: { verbatim: 1, near: 0, absent: 0 } } }
          : { type: "compacted" },
      );
      expect(compacted !== undefined && "survived" in compacted).toBe(isSaid);
    },
  );

  it.each(SHOWN)("%s: is the same in any order of lines, however often they are read", (_, sample) => {
    const straight = read(sample, true).contents;
    const indexes = sample.files(true)[0]!.lines.map((_line, index) => index);
    fc.assert(
      fc.property(
        fc.shuffledSubarray(indexes, { minLength: indexes.length }),
        fc.array(fc.constantFrom(...indexes), { maxLength: 9 }),
        (shuffled, again) => {
          const order = (lines: readonly object[]) => [...shuffled, ...again].map((index) => lines[index]!);
          expect(read(sample, true, order).contents.map(sorted)).toEqual(straight.map(sorted));
        },
      ),
      { numRuns: 15 },
    );
  });
});

const sorted = <One extends { items: readonly object[]; results: readonly object[] }>(one: One) => ({
  ...one,
  items: one.items.map((item) => JSON.stringify(item)).sort(),
  results: one.results.length,
});

it("has a conversation of each family that shows it, but those with longer tests", () => {
  const names = new Set(CONVERSATIONS.map(({ format }): string => HARNESSES[format].name));
  expect(SHOWING.filter((name) => !names.has(name))).toEqual(["Claude Code", "Codex"]);
});
