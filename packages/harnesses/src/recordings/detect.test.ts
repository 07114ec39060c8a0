import { describe, expect, it } from "vitest";
import { detectFormat } from "../recordings.ts";

const AT = "2026-11-20T10:00:00Z";
const formatOf = (value: unknown) => detectFormat(JSON.stringify(value));

describe("detectFormat", () => {
  it.each([
    [{ type: "user", sessionId: "s", message: { role: "user", content: "hi" } }],
    [{ type: "assistant", sessionId: "s", message: { id: "m", usage: {}, content: [] } }],
    [{ type: "system", subtype: "compact_boundary", uuid: "u", sessionId: "s" }],
    [{ type: "summary", summary: "text", leafUuid: "u" }],
    [{ type: "file-history-snapshot", messageId: "m", snapshot: {} }],
    [{ type: "queue-operation", operation: "enqueue", sessionId: "s" }],
    [{ type: "user", uuid: "u", parentUuid: null, message: { role: "user", content: "hi" } }],
    [{ type: "custom-title", customTitle: "t", sessionId: "s" }],
  ])("recognizes the Claude Code line %j", (line) => {
    expect(formatOf(line)).toBe("claude-code");
  });

  it.each([
    ["a type alone", { type: "assistant" }],
    ["a chat log", { type: "user", message: "hi", timestamp: AT }],
    ["a message without a session", { type: "assistant", message: { content: [] } }],
    ["a session without a message", { type: "user", sessionId: "s", text: "hi" }],
    ["a stream of the Agent SDK", { type: "system", subtype: "init", session_id: "s" }],
    ["a summary of something else", { type: "summary", total: 5 }],
    ["an attachment of mail", { type: "attachment", name: "a.pdf" }],
    ["a type from the prototype", { type: "constructor", sessionId: "s" }],
    ["an envelope with a payload of another program", { type: "log", timestamp: AT, payload: {} }],
    ["metadata of another program", { meta: { charset: "utf-8" } }],
  ])("does not take %s for a recording", (_, line) => {
    expect(formatOf(line)).toBeUndefined();
  });
});
