import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { parseEvent } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { anthropicShape } from "../anthropic/shape.ts";
import { chatShape } from "../openai/shape.ts";
import { type Message, plainShape, type Shape } from "../view/shape.ts";
import { Conversation } from "./conversation.ts";

const SECRET = "xylophone-quartz";

function guarded<M>(shape: Shape<M>) {
  const events: PlimsollEventInput[] = [];
  const guard = new Conversation<M>({
    identity: { harness: "bot@host", session: "s" },
    shape,
    window: 200_000,
    onEvent: (event) => events.push(event),
    onWarning: () => {},
  });
  let turns = 0;
  return {
    events,
    prepare: (messages: readonly M[]) => guard.prepare(messages),
    answer: (id = `msg_${++turns}`, stop = "tool_use") =>
      guard.observe({ id, model: "m", usage: { input_tokens: 9_000, output_tokens: 9 }, stop_reason: stop }),
    results: () =>
      events.flatMap((event) => {
        if (event.type !== "tool_result") return [];
        expect(parseEvent(event)).toMatchObject({ ok: true });
        expect(JSON.stringify(event)).not.toMatch(new RegExp(`${SECRET}|Bash`));
        return [[event.id, event.turn, event.result, event.window]];
      }),
  };
}

const user: Message = { role: "user", content: "Go." };
const calls = (...ids: string[]): Message => ({
  role: "assistant",
  content: "",
  toolCalls: ids.map((id) => ({ id, name: "Bash", arguments: { command: SECRET } })),
});
const result = (toolCallId: string, error?: boolean): Message => ({
  role: "tool",
  content: SECRET,
  toolCallId,
  ...(error !== undefined && { error }),
});

describe("the results of tool calls", () => {
  it("are reported once all of a reply are there, with its turn", () => {
    const { prepare, answer, results } = guarded(plainShape);
    prepare([user]);
    answer();
    expect(results()).toEqual([]);
    const asked = [user, calls("a", "b")];
    prepare([...asked, result("a", true)]);
    expect(results()).toEqual([]);
    const whole = [...asked, result("a", true), result("b")];
    prepare(whole);
    prepare(whole);
    const first = [
      ["msg_1/tool-0", "msg_1", "failed", 0],
      ["msg_1/tool-1", "msg_1", "ok", 0],
    ];
    expect(results()).toEqual(first);
    answer();
    prepare([...whole, calls("a"), result("a")]);
    expect(results()).toEqual([...first, ["msg_2/tool-0", "msg_2", "ok", 0]]);
  });

  it("of an earlier turn are not reported for one that asked for none", () => {
    const { prepare, answer, results } = guarded(plainShape);
    const whole = [user, calls("a"), result("a", true)];
    prepare(whole);
    answer("msg_1", "end_turn");
    prepare([...whole, { role: "assistant", content: "Done." }, user]);
    answer("msg_2");
    // Its reply is missing.
    prepare([...whole, { role: "assistant", content: "Done." }, user]);
    expect(results()).toEqual([]);
  });

  it("of a turn that the provider reported again are reported once", () => {
    const { prepare, answer, results } = guarded(plainShape);
    prepare([user]);
    answer("msg_1");
    answer("msg_1");
    const whole = [user, calls("a"), result("a")];
    prepare(whole);
    answer("msg_1");
    prepare(whole);
    expect(results()).toEqual([["msg_1/tool-0", "msg_1", "ok", 0]]);
  });

  it("are read from messages of Anthropic", () => {
    const { prepare, answer, results } = guarded(anthropicShape);
    const asked = [
      { role: "user", content: "Go." },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: SECRET } }],
      },
    ];
    prepare(asked.slice(0, 1));
    answer();
    const answered = { type: "tool_result", tool_use_id: "toolu_1", content: SECRET, is_error: true };
    prepare([...asked, { role: "user", content: [answered, { type: "text", text: "Go on." }] }]);
    expect(results()).toEqual([["msg_1/tool-0", "msg_1", "failed", 0]]);
  });

  it("are not reported where messages do not say whether a tool failed", () => {
    const { prepare, answer, results } = guarded(chatShape);
    prepare([{ role: "user", content: "Go." }]);
    answer();
    prepare([
      { role: "user", content: "Go." },
      { role: "assistant", tool_calls: [{ id: "c", function: { name: "Bash", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c", content: SECRET },
    ]);
    expect(results()).toEqual([]);
  });

  it("of a turn with a very long id are left out", () => {
    const { prepare, answer, results, events } = guarded(plainShape);
    prepare([user]);
    answer("x".repeat(125));
    prepare([user, calls("a"), result("a")]);
    expect(results()).toEqual([]);
    expect(events.some(({ type }) => type === "turn")).toBe(true);
  });
});
