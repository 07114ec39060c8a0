import "../testing/clean-environment.ts";

import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, it } from "vitest";
import { all, PATIENCE, sdkUnderTest, shell, userMessage } from "../testing/claude-session.ts";
import type { ModelRequest } from "../testing/scripted-model/index.ts";
import { Channel } from "./channel.ts";
import type { SdkUserMessage } from "./sdk-types.ts";

const { session } = sdkUnderTest();
const text = (request: ModelRequest) => JSON.stringify(request.messages);
const results = (messages: readonly SDKMessage[]) => messages.filter(({ type }) => type === "result");
const QUESTIONS = ["one", "two", "three", "four", "five", "six"].map((word) => `question ${word}`);

async function* stream(questions: readonly string[]) {
  for (const question of questions) yield userMessage(question);
}

/** The last question in a request. */
function questionOf(request: ModelRequest): string {
  return text(request)
    .match(/question \w+/g)!
    .at(-1)!;
}

describe("a stream of prompts to the Claude Agent SDK", () => {
  it(
    "is answered prompt by prompt in one process, and moves on to fresh sessions without loss [P9]",
    async () => {
      let level = 15_000;
      const ids = new Set<string>();
      const { send, asked, events } = await session((request) => {
        if (text(request).includes("continues from an earlier session") && !text(request).includes("re: "))
          level = 15_000;
        level += 11_000;
        return { text: `re: ${questionOf(request)}`, promptTokens: level };
      });
      const messages = await send(stream(QUESTIONS));
      for (const message of messages)
        if (message.type === "system" && message.subtype === "init") ids.add(message.session_id);
      expect(results(messages).map((one) => (one as { result?: string }).result)).toEqual(
        QUESTIONS.map((one) => `re: ${one}`),
      );
      const restarts = events.filter(({ type }) => type === "restarted");
      expect(restarts.length).toBeGreaterThan(0);
      expect(ids.size).toBe(restarts.length + 1);
      expect(asked().map(questionOf)).toEqual(QUESTIONS);
    },
    PATIENCE,
  );

  it(
    "has a prompt that grows too long continue in a fresh session, and the next one after it",
    async () => {
      let steps = 0;
      const { send, asked, events } = await session(
        (request) => {
          if (questionOf(request) !== "question two" || steps >= 6)
            return { text: `re: ${questionOf(request)}`, promptTokens: request.promptTokens };
          steps++;
          return shell("head -c 16000 big.txt", request.promptTokens);
        },
        {
          policy: {
            thresholds: { warning: null, ceiling: 30_000, soft: null, hard: null },
            pace: { minTurns: 2 },
          },
        },
      );
      const messages = await send(stream(QUESTIONS.slice(0, 3)));
      expect(events.some(({ type }) => type === "restarted")).toBe(true);
      expect(results(messages).map((one) => (one as { result?: string }).result)).toEqual([
        "re: question one",
        "re: question two",
        "re: question three",
      ]);
      for (const { promptTokens } of asked()) expect(promptTokens).toBeLessThan(30_000);
    },
    PATIENCE,
  );

  it(
    "takes a prompt that comes while the agent works, and sends it after the answer",
    async () => {
      const prompts = new Channel<SdkUserMessage>();
      const { claude, asked } = await session((request) =>
        text(request).includes("tool_result")
          ? { text: `re: ${questionOf(request)}` }
          : shell("sleep 0.2; echo slow", 15_000),
      );
      prompts.push(userMessage("question one"));
      const answers: unknown[] = [];
      for await (const message of claude.send(prompts)) {
        if (message.type === "assistant" && answers.length === 0 && asked().length === 1)
          prompts.push(userMessage("question two"));
        if (message.type === "result") {
          answers.push((message as { result?: string }).result);
          if (answers.length === 2) prompts.end();
        }
      }
      expect(answers).toEqual(["re: question one", "re: question two"]);
    },
    PATIENCE,
  );

  it(
    "keeps a prompt that it took and could not send",
    async () => {
      const policy = {
        thresholds: { warning: null, ceiling: null, soft: null, hard: 30_000 },
        restart: { max: 0 },
      };
      const { claude, send } = await session(
        (request) => ({ text: `re: ${questionOf(request)}`, promptTokens: 31_000 }),
        { policy },
      );
      await expect(send(stream(QUESTIONS))).rejects.toMatchObject({ code: "max_restarts" });
      expect(claude.unsent).toMatchObject({ message: { content: "question two" } });
    },
    PATIENCE,
  );

  it(
    "ends at once if it is empty",
    async () => {
      const { send, asked } = await session(() => ({ text: "x" }));
      expect(await send(stream([]))).toEqual([]);
      expect(asked()).toEqual([]);
    },
    PATIENCE,
  );

  it(
    "waits for a call of `send` that came before",
    async () => {
      const { claude, asked } = await session((request) => ({ text: `re: ${questionOf(request)}` }));
      await Promise.all(QUESTIONS.slice(0, 3).map((question) => all(claude.send(question))));
      expect(asked().map(questionOf)).toEqual(QUESTIONS.slice(0, 3));
      expect(text(asked()[2]!)).toContain("re: question two");
    },
    PATIENCE,
  );

  it(
    "keeps the model and the permission mode over a fresh session",
    async () => {
      const { claude, asked } = await session((request) => ({
        text: `re: ${questionOf(request)}`,
        promptTokens: 45_000,
      }));
      for await (const message of claude.send(stream(QUESTIONS.slice(0, 3)))) {
        if (message.type === "result" && asked().length === 1) {
          await claude.setModel("claude-sonnet-5");
          await claude.setPermissionMode("plan");
        }
        if (message.type === "system" && message.subtype === "init" && asked().length > 0) {
          expect(message).toMatchObject({ model: "claude-sonnet-5", permissionMode: "plan" });
        }
      }
      expect(asked().map(({ model }) => model)).toEqual([
        "claude-opus-5",
        "claude-sonnet-5",
        "claude-sonnet-5",
      ]);
    },
    PATIENCE,
  );

  it(
    "continues after an interrupt with the next prompt",
    async () => {
      const { claude, asked } = await session((request) =>
        questionOf(request) === "question one"
          ? shell("sleep 0.1", 15_000)
          : { text: `re: ${questionOf(request)}` },
      );
      const answers: unknown[] = [];
      for await (const message of claude.send(stream(QUESTIONS.slice(0, 2)))) {
        if (message.type === "user" && asked().length === 3) await claude.interrupt();
        if (message.type === "result") answers.push(message.subtype);
      }
      expect(answers).toEqual(["error_during_execution", "success"]);
      expect(questionOf(asked().at(-1)!)).toBe("question two");
    },
    PATIENCE,
  );
});
