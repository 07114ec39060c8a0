import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import type { GuardOptions } from "../conversation/types.ts";
import { createGuard, type Guard } from "../guard.ts";
import { chatShape, guardChat, guardResponses, responsesShape } from "../openai/index.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

type Call = (text: string, signal?: AbortSignal) => Promise<unknown>;
type Connect = (url: string, options?: Partial<GuardOptions<never>>) => { guard: Guard<never>; call: Call };

const base = { identity: { harness: "h" }, window: 100_000, onWarning() {} };

const CLIENTS: Readonly<Record<string, Connect>> = {
  chat(url, options = {}) {
    const guard = createGuard({ ...base, shape: chatShape, ...(options as object) });
    const client = guardChat(new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 }), guard);
    const call: Call = async (content, signal) =>
      client.chat.completions.create({ model: "m", messages: [{ role: "user", content }] }, { signal });
    return { guard: guard as Guard<never>, call };
  },
  responses(url, options = {}) {
    const guard = createGuard({ ...base, shape: responsesShape, ...(options as object) });
    const client = guardResponses(new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 }), guard);
    const call: Call = async (input, signal) => client.responses.create({ model: "m", input }, { signal });
    return { guard: guard as Guard<never>, call };
  },
  messages(url, options = {}) {
    const guard = createGuard({ ...base, shape: anthropicShape, ...(options as object) });
    const client = guardMessages(new Anthropic({ baseURL: url, apiKey: "x", maxRetries: 0 }), guard);
    const call: Call = async (content, signal) =>
      client.messages.create(
        { model: "m", max_tokens: 9, messages: [{ role: "user", content }] },
        { signal },
      );
    return { guard: guard as Guard<never>, call };
  },
};

describe.each(Object.entries(CLIENTS))("a call of %s", (_, connect) => {
  it("that its caller aborts while the server works on it counts with the estimate", async () => {
    const stop = new AbortController();
    server = await startScriptedModel(() => {
      stop.abort();
      return { text: "late" };
    });
    const { guard, call } = connect(server.url);
    await expect(call(filler(500), stop.signal)).rejects.toThrow(/abort/i);
    const { state } = guard.conversation();
    expect(state.allTurns).toBe(1);
    expect(state.level).toBeGreaterThan(400);
  });

  it("that was aborted before it was sent does not count", async () => {
    server = await startScriptedModel(() => ({ text: "ok" }));
    const { guard, call } = connect(server.url);
    await expect(call(filler(500), AbortSignal.abort())).rejects.toThrow(/abort/i);
    expect(server.requests).toHaveLength(0);
    expect(guard.conversation().state.allTurns).toBe(0);
  });

  it("that fails by itself does not count, even if the caller aborts afterwards", async () => {
    const stop = new AbortController();
    server = await startScriptedModel(() => ({ refuse: { status: 401, message: "no" } }));
    const { guard, call } = connect(server.url);
    await expect(call("hello", stop.signal)).rejects.toThrow("no");
    stop.abort();
    expect(guard.conversation().state.allTurns).toBe(0);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("broken");
      },
    ],
  ])("keeps its answer if `onWarning` %s", async (_how, onWarning) => {
    server = await startScriptedModel(() => ({ text: "ok" }));
    const { guard, call } = connect(server.url, { onWarning, onEvent: onWarning, window: undefined });
    expect(JSON.stringify(await call("hello"))).toContain("ok");
    expect(guard.conversation().state.allTurns).toBe(1);
  });
});
