import { type PlimsollEventInput, parseEvent, type TurnContents } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anthropicShape } from "../anthropic/shape.ts";
import type { Shape } from "../view/shape.ts";
import { type Message, plainShape } from "../view/shape.ts";
import { Conversation } from "./conversation.ts";

const words = (count: number) => "alpha beta gamma delta ".repeat(count);
const asked: Message = { role: "user", content: words(40) };
const system: Message = { role: "system", content: words(10) };
const called = (id: string, name: string): Message => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id, name, arguments: { path: "secret/plan.ts" } }],
});
const result = (toolCallId: string, size: number): Message => ({
  role: "tool",
  content: words(size),
  toolCallId,
});

function guarded<M>(shape: Shape<M>, besides?: unknown, more: object = {}) {
  const events: PlimsollEventInput[] = [];
  const guard = new Conversation<M>({
    identity: { harness: "bot@host", session: "s" },
    shape,
    window: 200_000,
    onEvent: (event) => events.push(event),
    onWarning: () => {},
    ...more,
  });
  let turns = 0;
  /** Sends messages, which the provider counts as `tokens`, and returns what is reported of the window. */
  const contents = (messages: readonly M[], tokens?: number): TurnContents | undefined => {
    const { level } = guard.prepare(messages, { besides });
    const usage = { input_tokens: tokens ?? Math.round(level.tokens), output_tokens: 5 };
    guard.observe({ id: `t${++turns}`, model: "m", usage });
    const turn = events.findLast(({ type }) => type === "turn");
    expect(parseEvent(turn)).toMatchObject({ ok: true });
    expect(JSON.stringify(turn)).not.toMatch(/alpha|secret/);
    return turn?.type === "turn" ? (turn.contents as TurnContents | undefined) : undefined;
  };
  return { guard, contents };
}

const sum = (told: TurnContents | undefined) => told!.parts.reduce((all, { tokens }) => all + tokens, 0);

describe("the contents of a window", () => {
  const history = [
    system,
    asked,
    called("a", "Read"),
    result("a", 900),
    called("b", "Bash"),
    result("b", 300),
  ];

  it("are sums by kind and tool, with the definitions of tools, and explain the level", () => {
    const tools = [
      { name: "Read", description: words(30) },
      { type: "function", function: { name: "mcp__github__search", description: words(60) } },
    ];
    const { contents } = guarded(plainShape, [words(20), tools]);
    const told = contents(history)!;
    expect(told.parts.map(({ kind, tool, count }) => [kind, tool, count])).toEqual([
      ["tool", "Read", 1],
      ["tool", "Bash", 1],
      ["tool_definition", "mcp__github__search", undefined],
      ["user", undefined, 1],
      ["tool_definition", "Read", undefined],
      ["system", undefined, 1],
    ]);
    const { guard } = guarded(plainShape);
    const { level } = guard.prepare(history, { besides: [words(20), tools] });
    expect(Math.abs(sum(told) / level.tokens - 1)).toBeLessThan(0.02);
  });

  it("count deferred tools, which the provider keeps out of the prompt", () => {
    const tools = [{ name: "Read", description: words(30) }];
    const deferred = ["a", "b"].map((name) => ({ name, description: words(5_000), defer_loading: true }));
    const plain = guarded(plainShape).guard.prepare(history, { besides: [tools] });
    const { guard, contents } = guarded(plainShape, [tools, deferred]);
    expect(contents(history)!.parts.at(-1)).toEqual({ kind: "deferred_tool", tokens: 0, count: 2 });
    const { level } = guard.prepare(history, { besides: [tools, deferred] });
    expect(level.tokens).toBe(plain.level.tokens);
  });

  it("are reported again once the level has changed by a tenth, also downwards", () => {
    const { contents } = guarded(plainShape);
    expect(contents(history, 10_000)).toBeDefined();
    expect(contents([...history, asked], 10_900)).toBeUndefined();
    expect(contents([...history, asked, asked], 11_100)).toBeDefined();
    expect(contents(history.slice(0, 3), 4_000)).toBeDefined();
  });

  it("are what is sent: placeholders instead of masked results, and a handoff instead of what was removed", () => {
    const { guard, contents } = guarded(plainShape);
    const later = [...history, called("c", "Bash"), result("c", 20), called("d", "Bash"), result("d", 20)];
    const read = () => contents(later)?.parts.find(({ tool }) => tool === "Read");
    const whole = read()!;
    guard.changePolicy({
      thresholds: { warning: null, ceiling: null, soft: 2_000, hard: null },
      mask: { keepTurns: 1, keepTokens: 0 },
    });
    const masked = read()!;
    expect(masked.count).toBe(1);
    expect(masked.tokens).toBeLessThan(whole.tokens / 4);
    const long = Array.from({ length: 60 }, (_, at) => [called(`l${at}`, "Bash"), result(`l${at}`, 900)]);
    const other = guarded(plainShape);
    other.contents([asked, ...long.flat()]);
    other.guard.restart();
    expect(other.contents([asked, ...long.flat()])!.parts).toContainEqual({
      kind: "summary",
      tokens: expect.any(Number),
      count: 1,
    });
  });

  it("never exceed the level, whatever the provider counts and tools are called", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 300, unit: "binary" }), { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 1, max: 150_000 }),
        (names, tokens) => {
          const all = names.flatMap((name, at) => [called(`c${at}`, name), result(`c${at}`, at)]);
          const told = guarded(plainShape).contents([asked, ...all], tokens);
          expect(told!.parts.length).toBeLessThanOrEqual(64);
          expect(sum(told)).toBeLessThanOrEqual(tokens);
          expect(told!.parts.every((part) => part.tokens >= 0)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("are read in the messages of a provider, too", () => {
    const { contents } = guarded(anthropicShape, [[{ type: "text", text: words(50) }]]);
    const told = contents([
      { role: "user", content: words(30) },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "Grep", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: words(80) }] },
    ] as never)!;
    expect(told.parts.map(({ kind, tool }) => tool ?? kind)).toEqual(["Grep", "system", "user"]);
  });
});
