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
    const [first, second] = turns.sort((a, b) => Number(a.at) - Number(b.at));
    expect(first?.contents).toBeUndefined();
    const sent = TurnContents.parse(second?.contents);
    expect(sent.parts[0]).toMatchObject({ kind: "tool", tool: toolOf(sample), count: 1 });
    expect(sent.largest[0]).toMatchObject({ kind: "tool", at: second!.at });
    const called = [expect.objectContaining({ tool: toolOf(sample), calls: 1, failed: 0 })];
    expect(sent.called).toEqual(sample.format === "amp" ? undefined : called);
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

describe("what left the context", () => {
  const sampleOf = (name: string) => CONVERSATIONS.find(({ format }) => format === name)!;
  /** Reads lines of a conversation, some of them changed. */
  const readLines = (
    name: string,
    change: (lines: readonly object[]) => readonly object[],
    isCompacted = true,
  ) => read(sampleOf(name), isCompacted, change).contents[0];
  const kindsOf = (held: ReturnType<typeof readLines>) => held?.items.map(({ kind }) => kind).sort();
  const END = Date.UTC(2026, 10, 20, 10);
  const at = (second: number) => new Date(END + second * 1_000).toISOString();

  it("is unknown after a rewind, which has no time", () => {
    expect(readLines("gemini-cli", (lines) => [...lines, { $rewindTo: "g-5" }])).toBeUndefined();
  });

  it("is unknown from where messages were cut off until a compaction replaced the rest", () => {
    const cut = (second: number) => ({
      ...{ id: `cut-${second}`, timestamp: at(second), parentId: null, type: "session.truncation" },
      data: { tokenLimit: 64_000, messagesRemovedDuringTruncation: 2 },
    });
    expect(readLines("copilot", (lines) => [...lines, cut(4)], false)).toBeUndefined();
    expect(readLines("copilot", (lines) => [...lines, cut(4)])?.turn).toBe(3);
    expect(readLines("copilot", (lines) => [...lines, cut(8)])).toBeUndefined();
    const told = (lines: readonly object[]) =>
      read(sampleOf("copilot"), true, (all) => [...all, ...lines]).events.filter(
        (event) => event.type === "turn" && event.composition !== undefined,
      );
    expect([told([]).length, told([cut(4)]).length]).toEqual([1, 0]);
  });

  it("is shown by a list that repeats the conversation with masked results", () => {
    const list = {
      $set: {
        messages: [
          { id: "g-1", timestamp: at(1), type: "user", content: [{ text: SAID.prompt }] },
          {
            id: "g-2",
            timestamp: at(2),
            type: "gemini",
            content: SAID.answer,
            toolCalls: [{ id: "c1", name: "read" }],
          },
        ],
        lastUpdated: at(4.5),
      },
    };
    const { events, contents } = read(sampleOf("gemini-cli"), false, (lines) => [...lines, list]);
    expect(contents[0]!.items.map(({ kind }) => kind)).not.toContain("tool_result");
    expect(contents[0]!.loss).toBeUndefined();
    expect(events.map(({ type }) => type)).not.toContain("compacted");
  });

  it("is not what pi kept beside a summary, nor what is above a branch that was left", () => {
    const entry = (id: string, second: number, parent: string, more: object) => ({
      ...{ id, timestamp: at(second), parentId: parent, ...more },
    });
    const said = (id: string, second: number, parent: string) =>
      entry(id, second, parent, {
        type: "message",
        message: {
          ...{ role: "assistant", content: [], model: "m", stopReason: "stop" },
          usage: { input: 4_500, output: 9, cacheRead: 0, cacheWrite: 0 },
        },
      });
    const kept = readLines("pi", (lines) => [
      ...lines,
      entry("k", 10, "p-9", { type: "compaction", summary: SAID.summary.repeat(9), firstKeptEntryId: "p-7" }),
      said("k1", 11, "k"),
    ]);
    // The summary before is kept, and the answer after it.
    expect(kindsOf(kept)).toEqual(["assistant", "summary", "summary"]);
    const branch = readLines(
      "pi",
      (lines) => [
        ...lines,
        entry("b", 10, "p-3", { type: "branch_summary", fromId: "p-5", summary: SAID.summary }),
        said("b1", 11, "b"),
      ],
      false,
    );
    expect(kindsOf(branch)).toEqual([
      ...["assistant", "summary", "thinking", "tool_call", "tool_result", "user"],
    ]);
    expect(branch!.items.find(({ kind }) => kind === "user")).toMatchObject({ text: SAID.prompt });
  });

  it("ends where entries of pi name each other in a circle", () => {
    const held = readLines("pi", (lines) => [
      ...lines,
      {
        type: "compaction",
        id: "p-1",
        parentId: "p-9",
        timestamp: at(1),
        summary: "x",
        firstKeptEntryId: "none",
      },
    ]);
    expect(held?.level).toBe(LEVELS[2]);
  });

  it("is what opencode cleared of a result, and not what it kept beside a summary", () => {
    const part = (id: string, message: string, data: object) => ({
      ...{ table: "part", id, message_id: message, session_id: "s", time_created: END },
      data: JSON.stringify(data),
    });
    const cleared = part("prt_4", "msg_2", {
      ...{ type: "tool", tool: "read", callID: "c1" },
      state: { status: "completed", input: {}, output: SAID.result, time: { start: END, compacted: END } },
    });
    for (const held of [
      readLines("opencode", (all) => [...all, cleared], false),
      readLines("opencode", (all) => [cleared, ...all], false),
    ])
      expect(held).toMatchObject({ level: LEVELS[1], results: [] });
    const kept = readLines("opencode", (all) => [
      ...all,
      part("prt_7", "msg_5", { type: "compaction", auto: true, tail_start_id: "msg_3" }),
    ]);
    expect(kindsOf(kept)).toEqual(["assistant", "summary", "user"]);
    expect(kept!.loss?.things.find(({ kind }) => kind === "rule")?.survival).toBe("verbatim");
  });

  it("does not depend on shapes that a reader does not know", () => {
    const odd = [null, 7, true, [], {}, [[[]]], { text: 1 }, { content: { parts: null } }, "\ud800"];
    for (const sample of CONVERSATIONS)
      for (const value of odd) {
        const spoil = (field: unknown): unknown =>
          Array.isArray(field)
            ? field.map(spoil)
            : typeof field === "object" && field !== null
              ? Object.fromEntries(
                  Object.entries(field).map(([key, one]) => [
                    key,
                    /^(content|parts|message|toolCalls|args|output|result|summary|part|tool_calls)$/.test(
                      key,
                    ) && typeof one !== "object"
                      ? value
                      : spoil(one),
                  ]),
                )
              : field;
        const { contents } = read(sample, true, (lines) => lines.map((line) => spoil(line) as object));
        for (const { items, rest, level } of contents)
          expect(items.reduce((sum, { tokens }) => sum + tokens, rest)).toBe(level);
      }
  });
});
