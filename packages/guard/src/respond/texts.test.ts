import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import type { GuardOptions } from "../conversation/types.ts";
import { createGuard } from "../guard.ts";
import { chatShape, guardChat } from "../openai/index.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { counted, filler, readingFiles, testGuard, usage } from "../testing/test-guard.ts";
import { tellsCounts, windDownNotice } from "./texts.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

/** How full a context is, in any wording: a share, or a number of tokens. */
const COUNTS = /\d\s?%|\d[\d,]*\s*(?:tokens|left|turns?)|running low/;

describe("the models whose notices have counts", () => {
  it.each([
    ["claude-sonnet-4-6", true],
    ["claude-sonnet-4.6", true],
    ["us.anthropic.claude-sonnet-4-6-20260217-v1:0", true],
    ["claude-sonnet-5", true],
    ["claude-sonnet-5-20260630", true],
    ["anthropic/claude-sonnet-5", true],
    ["claude-haiku-4-5-20251001", true],
    ["claude-sonnet-5-5", false],
    ["claude-sonnet-5.5", false],
    ["claude-sonnet-5-5-20260922", false],
    ["claude-sonnet-50", false],
    ["claude-haiku-5-5", false],
    ["claude-haiku-4-51", false],
    ["claude-sonnet-4-5-20250929", false],
    ["claude-opus-4-8", false],
    ["claude-fable-5", false],
    ["claude-fable-5-1", false],
    ["gpt-5.1", false],
    ["llama3.2", false],
    ["", false],
    [undefined, false],
  ])("%s: %s", (model, told) => {
    expect(tellsCounts("by_model", [model])).toBe(told);
    expect(tellsCounts("always", [model])).toBe(true);
    expect(tellsCounts("never", [model])).toBe(false);
  });

  it("are all that may answer, or none", () => {
    expect(tellsCounts("by_model", ["claude-sonnet-5", "claude-haiku-4-5"])).toBe(true);
    expect(tellsCounts("by_model", ["claude-sonnet-5", "claude-opus-5"])).toBe(false);
    expect(tellsCounts("by_model", [])).toBe(false);
  });
});

describe("a wind-down notice without counts", () => {
  const notice = (next: "restart" | "ask" | "none") =>
    windDownNotice({
      contextTokens: 92_000,
      windowTokens: 100_000,
      hardTokens: 90_000,
      graceTurns: 3,
      next,
      withCounts: false,
      notesFile: "NOTES.md",
    });

  it("asks for notes and gives no numbers", () => {
    for (const next of ["restart", "ask", "none"] as const) {
      expect(notice(next)).toMatch(/^\[Finish what you are doing, write your notes to NOTES\.md/);
      expect(notice(next)).not.toMatch(/\d/);
    }
  });

  it("only stops an agent that is not restarted by itself: a harness may take a stop for the end", () => {
    expect(notice("restart")).not.toContain("stop");
    expect(notice("ask")).toContain("then stop");
    expect(notice("none")).toContain("then stop");
  });
});

const POLICY = {
  thresholds: { warning: null, ceiling: null, soft: "50%", hard: "60%" },
  compact: null,
} as const;

type Said = { role: "user" | "assistant"; content: string };

/** What an agent reads with each client, until its context is nearly full. */
const CLIENTS: Readonly<
  Record<
    string,
    (url: string, options: Partial<GuardOptions<never>>) => (model: string, said: Said[]) => unknown
  >
> = {
  openai(url, options) {
    const guard = createGuard({ ...base(options), shape: chatShape });
    const client = guardChat(new OpenAI({ baseURL: `${url}/v1`, apiKey: "x" }), guard);
    return (model, messages) => client.chat.completions.create({ model, messages });
  },
  anthropic(url, options) {
    const guard = createGuard({ ...base(options), shape: anthropicShape });
    const client = guardMessages(new Anthropic({ baseURL: url, apiKey: "x" }), guard);
    return (model, messages) => client.messages.create({ model, max_tokens: 100, messages });
  },
};
const base = (options: object) => ({
  identity: { harness: "h" },
  policy: POLICY,
  window: 10_000,
  onWarning() {},
  ...options,
});

describe.each(Object.entries(CLIENTS))("an agent called with %s", (_, connect) => {
  const run = async (models: readonly string[], options: object = {}) => {
    server = await startScriptedModel(() => ({ text: "ok" }));
    const send = connect(server.url, options);
    const said: Said[] = [{ role: "user", content: "Begin." }];
    for (const model of models) {
      await send(model, said);
      said.push({ role: "assistant", content: "ok" }, { role: "user", content: filler(850, "word") });
    }
    return server.requests.map(({ messages }) => JSON.stringify(messages));
  };
  const repeated = (model: string, times = 7) => Array.from({ length: times }, () => model);

  it("of an unknown model reads no counts", async () => {
    const sent = await run(repeated("some-model"), { notesFile: "NOTES.md" });
    expect(sent.at(-1)).toContain("write your notes to NOTES.md");
    for (const one of sent) expect(one).not.toMatch(COUNTS);
  });

  it("of a model that takes them well reads counts", async () => {
    const sent = await run(repeated("claude-sonnet-5"));
    expect(sent.at(-1)).toMatch(/Context running low: \d+% of 10,000 tokens used, about [\d,]+ left/);
  });

  it.each([
    ["always", "some-model", true],
    ["never", "claude-sonnet-5", false],
  ])("with `noticeCounts: %s` reads them, or not, whatever its model", async (noticeCounts, model, told) => {
    const sent = await run(repeated(model), { noticeCounts });
    expect(sent.at(-1)).toContain(told ? "running low" : "Finish what you are doing");
  });

  it("reads earlier notices without counts after a change to another model", async () => {
    const sent = await run([...repeated("claude-sonnet-5"), "claude-fable-5"]);
    expect(sent.at(-2)).toMatch(COUNTS);
    expect(sent.at(-1)).toContain("Finish what you are doing");
    expect(sent.at(-1)).not.toMatch(COUNTS);
  });
});

describe("the notice about masked results", () => {
  const masked = (model: string) => {
    const { guard } = testGuard({ noticeCounts: "by_model", model, policy: { compact: null } });
    const history = readingFiles(8, 950);
    const { messages, sent, level } = guard.prepare(history);
    return { text: messages.at(-1)!.content, sent, level: level.tokens, actual: counted(messages), guard };
  };

  it("says how much was reclaimed only to a model that takes counts well", () => {
    expect(masked("claude-haiku-4-5").text).toMatch(
      /\[Context compressed: \d+ observations masked, \d+% context reclaimed\]$/,
    );
    expect(masked("kimi-k3").text).toMatch(/\[Context compressed: \d+ observations masked\]$/);
  });

  it("is estimated in the words that are sent", () => {
    const [told, plain] = [masked("claude-haiku-4-5"), masked("kimi-k3")];
    expect(told.sent - plain.sent).toBe(told.actual - plain.actual);
    expect(told.sent - plain.sent).toBeGreaterThan(0);
  });

  it("of a state that has it with counts alone is sent as it is", () => {
    const { guard } = masked("kimi-k3");
    const state = guard.snapshot();
    state.notices = state.notices.map(({ kind, after, text }) => ({ kind, after, text }));
    const restored = testGuard({ noticeCounts: "by_model", state }).guard;
    restored.observe(usage(5_000, "t1"));
    expect(() => restored.prepare(readingFiles(8, 950))).not.toThrow();
  });
});
