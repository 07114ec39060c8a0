import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AiMessage, aiShape } from "../ai-sdk/index.ts";
import { type AnthropicMessage, anthropicShape } from "../anthropic/index.ts";
import { type OllamaMessage, ollamaShape } from "../ollama/index.ts";
import { type ChatMessage, chatShape, type InputItem, responsesShape } from "../openai/index.ts";
import { DEFAULT_POLICY } from "../policy/policy.ts";
import { newState } from "../state/state.ts";
import { filler, words } from "../testing/test-guard.ts";
import { Editor } from "../view/editor.ts";
import { MessageReader } from "../view/reader.ts";
import type { SentPart } from "../view/sent-parts.ts";
import { type Message, plainShape, type Shape } from "../view/shape.ts";
import { FirstSent } from "./first-sent.ts";
import { scaleOf, sectionsOf, shortTexts } from "./live-sections.ts";

const RESULT = filler(100, "result");
const LATER = filler(100, "later");

/** The same conversation in each message format: two calls with results, then the newest turn. */
const HISTORIES: [name: string, shape: Shape<never>, messages: unknown[]][] = [
  [
    "plain",
    plainShape,
    [
      { role: "system", content: "be careful" },
      { role: "user", content: "read a" },
      {
        role: "assistant",
        content: "I read.",
        toolCalls: [{ id: "c1", name: "read", arguments: { path: "a" } }],
      },
      { role: "tool", content: RESULT, toolCallId: "c1" },
      { role: "assistant", content: "", toolCalls: [{ id: "c2", name: "read", arguments: { path: "b" } }] },
      { role: "tool", content: LATER, toolCallId: "c2" },
    ] satisfies Message[],
  ],
  [
    "OpenAI chat",
    chatShape,
    [
      { role: "system", content: "be careful" },
      { role: "user", content: "read a" },
      {
        role: "assistant",
        content: "I read.",
        tool_calls: [{ id: "c1", type: "function", function: { name: "read", arguments: '{"path":"a"}' } }],
      },
      { role: "tool", content: RESULT, tool_call_id: "c1" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c2", type: "function", function: { name: "read", arguments: '{"path":"b"}' } }],
      },
      { role: "tool", content: LATER, tool_call_id: "c2" },
    ] satisfies ChatMessage[],
  ],
  [
    "OpenAI Responses",
    responsesShape,
    [
      { role: "system", content: "be careful" },
      { role: "user", content: "read a" },
      { role: "assistant", content: "I read." },
      { type: "function_call", call_id: "c1", name: "read", arguments: '{"path":"a"}' },
      { type: "function_call_output", call_id: "c1", output: RESULT },
      { type: "function_call", call_id: "c2", name: "read", arguments: '{"path":"b"}' },
      { type: "function_call_output", call_id: "c2", output: LATER },
    ] satisfies InputItem[],
  ],
  [
    "Anthropic",
    anthropicShape,
    [
      { role: "user", content: "read a" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I read." },
          { type: "tool_use", id: "c1", name: "read", input: { path: "a" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: RESULT }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c2", name: "read", input: { path: "b" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c2", content: LATER }] },
    ] satisfies AnthropicMessage[],
  ],
  [
    "Ollama",
    ollamaShape,
    [
      { role: "system", content: "be careful" },
      { role: "user", content: "read a" },
      {
        role: "assistant",
        content: "I read.",
        tool_calls: [{ function: { name: "read", arguments: { path: "a" } } }],
      },
      { role: "tool", content: RESULT, tool_name: "read" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ function: { name: "read", arguments: { path: "b" } } }],
      },
      { role: "tool", content: LATER, tool_name: "read" },
    ] satisfies OllamaMessage[],
  ],
  [
    "AI SDK",
    aiShape,
    [
      { role: "system", content: "be careful" },
      { role: "user", content: [{ type: "text", text: "read a" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I read." },
          { type: "tool-call", toolCallId: "c1", toolName: "read", input: { path: "a" } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "c1",
            toolName: "read",
            output: { type: "text", value: RESULT },
          },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "c2", toolName: "read", input: { path: "b" } }],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c2", toolName: "read", output: { type: "text", value: LATER } },
        ],
      },
    ] satisfies AiMessage[],
  ],
] as [string, Shape<never>, unknown[]][];

const NEVER_SEEN = () => undefined;

function partsOf(shape: Shape<never>, messages: unknown[]) {
  const editor = new Editor(new MessageReader(shape, words), [], {
    place: "merge",
    counts: "always",
    file: "",
  });
  editor.sync(messages as never[]);
  const policy = { ...DEFAULT_POLICY, mask: { ...DEFAULT_POLICY.mask!, keepTurns: 1 } };
  const state = newState(1, 0);
  return { editor, state, parts: editor.parts(state, policy) };
}

describe("sections of a live conversation", () => {
  it.each(HISTORIES)("have the same priorities in each format: %s [W2]", (_, shape, messages) => {
    const { editor, state, parts } = partsOf(shape, messages);
    const facts = { head: undefined, level: editor.estimate(state), scale: 1 };
    const sections = sectionsOf(parts, facts, NEVER_SEEN);
    const of = (text: string) => sections.find(({ content }) => content.includes(text));
    expect(of("read a")).toMatchObject({ priority: "critical", area: "context", fixed: true });
    expect(of("I read.")).toMatchObject({ priority: "medium", area: "context", fixed: true });
    expect(of('"path":"a"')).toMatchObject({ priority: "medium", label: "read: a", fixed: true });
    expect(of("result result")).toMatchObject({
      priority: "low",
      area: "observation",
      fixed: false,
      tokens: 100,
    });
    // The newest turn stays as it is.
    expect(of("later later")).toMatchObject({ priority: "critical" });
    if (messages.length > 5) expect(of("be careful")).toMatchObject({ priority: "critical", area: "system" });
    expect(sections.reduce((sum, { tokens }) => sum + tokens, 0)).toBeCloseTo(facts.level, 6);
    expect(new Set(sections.map(({ id }) => id)).size).toBe(sections.length);
  });

  const part = fc.record({
    id: fc.constantFrom("c1#a", "c2#b", "c3#c", "user#d", "assistant#e"),
    print: fc.nat(5),
    kind: fc.constantFrom("system", "user", "assistant", "call", "result") as fc.Arbitrary<SentPart["kind"]>,
    text: fc.constantFrom("a", "b"),
    tokens: fc.integer({ min: 0, max: 1_000 }),
    tool: fc.constant(undefined),
    input: fc.constant(undefined),
    newest: fc.boolean(),
    maskable: fc.boolean(),
    masked: fc.boolean(),
  });

  it("never add up to more than the expected level, whatever the calibration [W9]", () => {
    fc.assert(
      fc.property(
        fc.array(part),
        fc.double({ min: 0.5, max: 3, noNaN: true }),
        fc.integer({ min: -500, max: 500 }),
        (parts, slope, offset) => {
          const estimate = parts.reduce((sum, { tokens }) => sum + tokens + 4, 0);
          const level = Math.max(0, slope * estimate + offset);
          const facts = { head: undefined, level, scale: scaleOf(slope, estimate, level) };
          const sections = sectionsOf(parts, facts, NEVER_SEEN);
          expect(sections.reduce((sum, { tokens }) => sum + tokens, 0)).toBeCloseTo(level, 3);
          // A text that occurs twice may be shortened only if both occurrences may.
          for (const { id, fixed, priority } of sections) {
            const same = parts.filter((one) => one.id === id);
            if (same.some(({ maskable }) => !maskable)) expect(fixed).toBe(true);
            if (same.some(({ newest }) => newest)) expect(priority).toBe("critical");
          }
        },
      ),
    );
  });

  it("stay the same objects while only the calibration moves a little", () => {
    const [, shape, messages] = HISTORIES[0]!;
    const { parts } = partsOf(shape, messages);
    const at = (scale: number, before?: ReadonlyMap<string, never>) =>
      sectionsOf(parts, { head: undefined, level: 400, scale }, NEVER_SEEN, before);
    const before = new Map(at(1).map((section) => [section.id, section]));
    const result = [...before.values()].find(({ priority }) => priority === "low")!;
    const same = (scale: number) => at(scale, before as never).some((section) => section === result);
    expect(same(1.05)).toBe(true);
    expect(same(1.3)).toBe(false);
    // A part that becomes one of the newest must not be shortened any longer.
    const newest = parts.map((part) => ({ ...part, newest: true }));
    const facts = { head: undefined, level: 400, scale: 1 };
    expect(sectionsOf(newest, facts, NEVER_SEEN, before as never)).not.toContain(result);
    const total = at(1.05, before as never).reduce((sum, { tokens }) => sum + tokens, 0);
    expect(total).toBeCloseTo(400, 6);
  });

  it("give back the texts that replace shortened parts, and only those [W2]", () => {
    const { parts } = partsOf(HISTORIES[0]![1], HISTORIES[0]![2]);
    const sections = sectionsOf(parts, { head: undefined, level: 400, scale: 1 }, NEVER_SEEN);
    const sent = new Map(sections.map((section) => [section.id, section]));
    expect(shortTexts(sections, sent)).toEqual(new Map());
    const shorter = sections.map((section) =>
      section.priority === "low" ? { ...section, content: "short", stage: "summary" as const } : section,
    );
    expect([...shortTexts(shorter, sent)]).toEqual([[expect.stringMatching(/^c1#/), "short"]]);
    // A part that is masked already has its text.
    const masked = new Map(shorter.map((section) => [section.id, section]));
    expect(shortTexts(shorter, masked)).toEqual(new Map());
  });
});

describe("when a message was first sent", () => {
  it("is unknown for those that were there before, and stays when a harness sends them again [W10]", () => {
    const times = new FirstSent();
    times.record([1, 2], 10);
    times.record([1, 2, 3, 4], 20);
    times.record([2, 3, 4, 5], 30);
    expect([1, 2, 3, 4, 5, 6].map((print) => times.at(print))).toEqual([
      undefined,
      undefined,
      20,
      20,
      30,
      undefined,
    ]);
  });

  it("is recorded behind a repeated message, and forgotten with messages that are gone", () => {
    const times = new FirstSent();
    times.record([1], 10);
    // The user says the first words again.
    times.record([1, 2, 3, 1], 20);
    expect(times.at(2)).toBe(20);
    for (let print = 0; print < 3_000; print++) times.record([print], 30 + print);
    expect(times.at(2)).toBeUndefined();
    expect(times.at(2_999)).toBe(3_029);
  });
});
