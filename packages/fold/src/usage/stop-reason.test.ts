import { STOP_REASONS } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stopOfAnswer, stopReasonOf } from "./stop-reason.ts";

describe("stopReasonOf", () => {
  it.each([
    ["tool_use", "tool_use"],
    ["tool_calls", "tool_use"],
    ["tool-calls", "tool_use"],
    ["toolUse", "tool_use"],
    ["TOOL_CALL", "tool_use"],
    ["function_call", "tool_use"],
    ["pause_turn", "tool_use"],
    [["tool_call", "stop"], "tool_use"],
    ['["tool_calls"]', "tool_use"],
    ["('tool_calls',)", "tool_use"],
    ["end_turn", "end_turn"],
    ["stop", "end_turn"],
    ["stop_sequence", "end_turn"],
    ["length", "cut_off"],
    ["MAX_TOKENS", "cut_off"],
    ["model_context_window_exceeded", "cut_off"],
    ["content-filter", "cut_off"],
    ["refusal", "cut_off"],
    ["error", "cut_off"],
  ])("%j means %s", (said, reason) => expect(stopReasonOf(said)).toBe(reason));

  it.each([undefined, null, "", 5, {}, [], "[]", "STOP", "unknown", "constructor", "__proto__", "toString"])(
    "%j tells nothing",
    (said) => expect(stopReasonOf(said)).toBeUndefined(),
  );

  it("reads any value", () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), fc.array(fc.string())), (said) => {
        expect([undefined, ...STOP_REASONS]).toContain(stopReasonOf(said));
        expect([undefined, ...STOP_REASONS]).toContain(stopOfAnswer(said));
      }),
    );
  });
});

describe("stopOfAnswer", () => {
  const gemini = (parts: object[], finishReason = "STOP") => ({
    candidates: [{ finishReason, content: { role: "model", parts } }],
  });
  it.each([
    ["Anthropic", { type: "message", content: [{ type: "tool_use" }], stop_reason: "tool_use" }, "tool_use"],
    ["Anthropic", { type: "message", content: [{ type: "text" }], stop_reason: "end_turn" }, "end_turn"],
    ["OpenAI", { choices: [{ finish_reason: "tool_calls", message: { tool_calls: [{}] } }] }, "tool_use"],
    ["OpenAI", { choices: [{ finish_reason: "length", message: { content: "a" } }] }, "cut_off"],
    ["Responses", { status: "completed", output: [{ type: "function_call" }] }, "tool_use"],
    ["Responses", { status: "completed", output: [{ type: "message" }] }, "end_turn"],
    ["Gemini", gemini([{ functionCall: { name: "ls" } }]), "tool_use"],
    ["Gemini", gemini([{ text: "done" }]), "end_turn"],
    ["Gemini", gemini([{ text: "do" }], "MAX_TOKENS"), "cut_off"],
    ["Ollama", { done_reason: "stop", message: { tool_calls: [{ function: {} }] } }, "tool_use"],
    ["Ollama", { done_reason: "stop", message: { content: "done" } }, "end_turn"],
    ["Bedrock", { stopReason: "tool_use", output: { message: {} } }, "tool_use"],
    ["AI SDK", { finishReason: "tool-calls", usage: {} }, "tool_use"],
    ["AI SDK 6", { finishReason: { unified: "stop", raw: "end_turn" }, usage: {} }, "end_turn"],
    ["LangChain", { tool_calls: [{ name: "ls" }], response_metadata: {} }, "tool_use"],
    ["LangChain", { tool_calls: [], response_metadata: { finish_reason: "stop" } }, "end_turn"],
    ["the Agent SDK", { type: "assistant", message: { content: [], stop_reason: "end_turn" } }, "end_turn"],
    ["the Agent SDK", { type: "assistant", message: { content: [{ type: "tool_use" }] } }, "tool_use"],
    ["a usage alone", { input_tokens: 5 }, undefined],
  ])("reads the end of an answer of %s", (_, answer, reason) => expect(stopOfAnswer(answer)).toBe(reason));
});
