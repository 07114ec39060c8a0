import "../testing/clean-environment.ts";

import OpenAI from "openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGuard } from "../guard.ts";
import { withConversation } from "../node/index.ts";
import { type ChatMessage, chatShape, guardChat } from "../openai/index.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import {
  type ModelRequest,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";

const WINDOW = 4_000;
const SYSTEM: ChatMessage = { role: "system", content: "Obey." };

let model: ScriptedModel;
beforeEach(async () => {
  model = await startScriptedModel(({ messages }) => {
    const message = MESSAGE_RULES.alternating(messages);
    return message === undefined ? { text: "ok" } : { refuse: { status: 400, message } };
  });
});
afterEach(() => model.close());

const idsIn = (text: unknown) => [...String(text).matchAll(/#\w+-\d+/g)].map(([id]) => id);
const textOf = (messages: readonly object[]) => JSON.stringify(messages);

/** A guarded client whose summaries name every message that they replace. */
function guarded() {
  const guard = createGuard<ChatMessage>({
    identity: { harness: "h" },
    shape: chatShape,
    window: WINDOW,
    policy: {
      thresholds: { warning: null, ceiling: "50%", soft: null, hard: null, reserve: null },
      mask: null,
      restart: null,
    },
  });
  const client = guardChat(new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 }), guard, {
    summarize: ({ messages }) => `summary of ${[...new Set(idsIn(textOf(messages)))].join(" ")}`,
    conversation: ({ user }: { user?: string }) => user,
  });
  const send = async (messages: readonly ChatMessage[], key?: string) => {
    const params = { model: "m", messages: [...messages] as never, ...(key && { user: key }) };
    const answer = await client.chat.completions.create(params);
    return answer.choices[0]!.message as ChatMessage;
  };
  return { guard, send };
}

/** A person who talks to an agent. Each message has an id of its own. */
function talk(name: string) {
  const history: ChatMessage[] = [];
  let said = 0;
  return {
    history,
    ask: (tokens = 120) =>
      void history.push({ role: "user", content: `#${name}-${++said} ${filler(tokens, name)}` }),
    answer: (message: ChatMessage, tokens = 120) =>
      void history.push({ ...message, content: `#${name}-${++said} ${filler(tokens, name)}` }),
  };
}

/** The messages of the harness that neither a request nor the summary in it has. */
function lostIn({ messages }: ModelRequest, given: readonly ChatMessage[]): string[] {
  const told = new Set(idsIn(textOf(messages)));
  return idsIn(textOf(given)).filter((id) => !told.has(id));
}

const hasSummary = ({ messages }: ModelRequest) => textOf(messages).includes("summary of");

describe("conversations through one client", () => {
  it("a harness that keeps its last 18 messages loses none that was not summarised", async () => {
    const { guard, send } = guarded();
    const { history, ask, answer } = talk("a");
    for (let turn = 0; turn < 40; turn++) {
      ask();
      const given = [SYSTEM, ...history.slice(-17)];
      answer(await send(given));
      expect(lostIn(model.requests.at(-1)!, given)).toEqual([]);
    }
    expect(model.requests.filter(hasSummary).length).toBeGreaterThan(10);
    expect(guard.sideCalls).toBe(0);
    expect(guard.conversation().state).toMatchObject({ allTurns: 40, window: 0 });
  });

  it.each([
    ["by their messages", () => undefined],
    ["by the option", (name: string) => name],
  ])("two conversations never get each other's summary, told apart %s", async (_, keyOf) => {
    const { guard, send } = guarded();
    const people = ["a", "b", "c"].map((name) => ({ name, ...talk(name) }));
    for (let turn = 0; turn < 24; turn++) {
      for (const { name, history, ask, answer } of people) {
        ask();
        const given = [SYSTEM, ...history];
        answer(await send(given, keyOf(name)));
        const request = model.requests.at(-1)!;
        expect(lostIn(request, given)).toEqual([]);
        expect(idsIn(textOf(request.messages)).filter((id) => !id.startsWith(`#${name}-`))).toEqual([]);
      }
    }
    expect(model.requests.filter(hasSummary).length).toBeGreaterThan(30);
    // Without keys, the first call of a second conversation could be one that writes a title.
    expect(guard.sideCalls).toBe(keyOf("a") === undefined ? 2 : 0);
  });

  it("two conversations are told apart by the async context", async () => {
    const { guard, send } = guarded();
    await Promise.all(
      ["a", "b"].map((name) =>
        withConversation(name, async () => {
          const { history, ask, answer } = talk(name);
          for (let turn = 0; turn < 20; turn++) {
            ask();
            answer(await send([SYSTEM, ...history]));
          }
        }),
      ),
    );
    for (const request of model.requests)
      expect(new Set(idsIn(textOf(request.messages)).map((id) => id.slice(0, 2))).size).toBe(1);
    expect(guard.conversation("a").state).toMatchObject({ allTurns: 20 });
    expect(guard.conversation("b").state).toMatchObject({ allTurns: 20 });
    expect(model.requests.filter(hasSummary).length).toBeGreaterThan(10);
  });

  it("a call that writes a title leaves the summary in its place, and is sent untouched", async () => {
    const { guard, send } = guarded();
    const { history, ask, answer } = talk("a");
    for (let turn = 0; turn < 24; turn++) {
      ask();
      answer(await send([SYSTEM, ...history]));
      const before = hasSummary(model.requests.at(-1)!);
      const title: ChatMessage[] = [
        { role: "system", content: "Write a title." },
        { role: "user", content: String(history[0]!.content) },
      ];
      await send(title);
      expect(model.requests.at(-1)!.messages).toEqual(title);
      if (before) expect(guard.conversation().state.cut).toBeDefined();
    }
    expect(guard.sideCalls).toBe(24);
    expect(guard.conversation().state).toMatchObject({ allTurns: 24, window: 0 });
    expect(guard.conversation().state.compactions).toBeLessThan(12);
  });

  it("an instruction of the user and a declared fact survive every summary word for word", async () => {
    const { guard, send } = guarded();
    const { history, ask, answer } = talk("a");
    ask(20);
    answer(await send([SYSTEM, ...history], "thread"), 20);
    history.push({ role: "user", content: "#a-900 Never touch the folder vendor." });
    guard.conversation("thread").declare("deploy target", "staging only");
    answer(await send([SYSTEM, ...history], "thread"));
    for (let turn = 0; turn < 40; turn++) {
      ask();
      answer(await send([SYSTEM, ...history], "thread"));
      const text = textOf(model.requests.at(-1)!.messages);
      expect(text).toContain("Never touch the folder vendor.");
      if (!text.includes("summary of")) continue;
      expect(text).toContain("- deploy target: staging only");
      expect(text.split("[Earlier part of this conversation")).toHaveLength(2);
      expect(text.split("summary of")).toHaveLength(2);
    }
    expect(guard.conversation("thread").state.compactions).toBeGreaterThan(3);
  });

  it("a hundred conversations without keys stay apart, also those whose messages were let go", async () => {
    const { guard, send } = guarded();
    const people = Array.from({ length: 100 }, (_, n) =>
      talk(`p${String.fromCharCode(97 + (n % 26))}${"x".repeat(n / 26)}`),
    );
    for (let turn = 0; turn < 4; turn++) {
      for (const { history, ask, answer } of people) {
        ask(500);
        const given = [SYSTEM, ...history];
        answer(await send(given), 500);
        const request = model.requests.at(-1)!;
        expect(lostIn(request, given)).toEqual([]);
        const own = new Set(idsIn(textOf(given)));
        expect(idsIn(textOf(request.messages)).filter((id) => !own.has(id))).toEqual([]);
      }
    }
    expect(guard.sideCalls).toBe(99);
    expect(guard.conversations()).toHaveLength(100);
    expect(model.requests.filter(hasSummary).length).toBeGreaterThan(100);
  });

  it("a reset history with the same key starts another window", async () => {
    const { guard, send } = guarded();
    const first = talk("a");
    for (let turn = 0; turn < 12; turn++) {
      first.ask();
      first.answer(await send([SYSTEM, ...first.history], "thread"));
    }
    expect(hasSummary(model.requests.at(-1)!)).toBe(true);
    const second = talk("b");
    second.ask();
    await send([SYSTEM, ...second.history], "thread");
    expect(idsIn(textOf(model.requests.at(-1)!.messages))).toEqual(["#b-1"]);
    expect(guard.conversation("thread").state).toMatchObject({ window: 1, cut: undefined });
  });
});
