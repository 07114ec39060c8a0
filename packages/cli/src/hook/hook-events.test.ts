import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hookArguments } from "./hook-arguments.ts";
import { hookEvents } from "./hook-events.ts";

const NOW = 1_795_000_000_000;
const read = (input: unknown, files: readonly string[] = [], family = "claude-code") =>
  hookEvents(family, input, NOW, (path) => files.includes(path));

// Inputs as code.claude.com/docs/en/hooks, codex-rs/hooks/schema at bde5e18 and docs/hooks of Gemini CLI describe them.
const claude = (name: string, rest: object = {}) => ({
  session_id: "s-1",
  transcript_path: "/t.jsonl",
  cwd: "/project",
  hook_event_name: name,
  ...rest,
});
const codex = {
  cwd: "/project",
  hook_event_name: "PostCompact",
  model: "gpt-5.5",
  session_id: "c-1",
  transcript_path: null,
  trigger: "auto",
  turn_id: "3",
};

describe("a hook", () => {
  it.each([
    ["Claude Code", claude("PostCompact", { trigger: "manual", compact_summary: "secret" }), "s-1", "manual"],
    ["Codex", codex, "c-1", "auto"],
    ["Kimi", { ...codex, session_id: "k-1", estimated_token_count: 900 }, "k-1", "auto"],
    ["an unknown trigger", claude("PostCompact", { trigger: "precompute" }), "s-1", "auto"],
  ])("of %s tells that the context was compacted, without numbers", (_, input, session, trigger) => {
    expect(read(input)).toEqual([
      { type: "compacted", id: `hook/compacted/${NOW}`, at: NOW, session, trigger },
    ]);
  });

  it("of a sub-agent belongs to the sub-agent", () => {
    expect(read(claude("PostCompact", { trigger: "auto", agent_id: "a1" }))).toMatchObject([
      { agent: "agent-a1", parent_agent: "main" },
    ]);
  });

  it("of a sub-agent of Codex names its thread, which telemetry has for its session", () => {
    // Seen from codex 0.169.0.
    const [event] = read({ ...codex, agent_id: "c-2", agent_type: "default" }, [], "codex");
    expect(event).toMatchObject({ session: "c-1", agent: "agent-c-2", own_session: "c-2" });
    expect(read(claude("PostCompact", { agent_id: "a1" }))[0]).not.toHaveProperty("own_session");
  });

  it("tells that a session was cleared, always under one id, and that it ended", () => {
    expect(read(claude("SessionEnd", { reason: "clear" }), ["/t.jsonl"])).toMatchObject([
      { type: "cleared", id: "hook/cleared", session: "s-1" },
      { type: "session", status: "ended", reason: "clear" },
    ]);
    expect(read(claude("SessionEnd", { reason: "exit" }), ["/t.jsonl"])).toMatchObject([
      { type: "session", status: "ended", reason: "exit" },
    ]);
  });

  it.each([
    ["that runs before the fact", claude("PreCompact", { trigger: "auto" })],
    ["that compresses nothing yet", claude("PreCompress", { trigger: "auto" })],
    ["of a start", claude("SessionStart", { source: "resume", context_tokens: 9 })],
    ["of a session without turns", claude("SessionEnd", { reason: "exit" })],
    ["without a session", { hook_event_name: "PostCompact", trigger: "auto" }],
    ["with a session of another type", { ...codex, session_id: 7 }],
    ["with an endless session", { ...codex, session_id: "x".repeat(257) }],
    ["that is a list", [codex]],
    ["that is null", null],
  ])("%s reports nothing", (_, input) => {
    expect(read(input, [])).toEqual([]);
  });

  it("never fails, whatever its input is", () => {
    const value = fc.oneof(fc.jsonValue(), fc.string());
    const odd = fc.record({
      session_id: value,
      hook_event_name: fc.constantFrom("PostCompact", "SessionEnd"),
      trigger: value,
      reason: value,
      agent_id: value,
      transcript_path: value,
    });
    fc.assert(
      fc.property(odd, (input) => {
        for (const { session, id } of read(input)) expect(`${session}${id}`.length).toBeLessThanOrEqual(384);
      }),
    );
  });
});

describe("the words of a hook's command", () => {
  it.each([
    [["hook", "codex"], { family: "codex", connection: undefined, isReport: false }],
    [["hook", "codex", "--connection", "/a b"], { family: "codex", connection: "/a b" }],
    [["hook", "kimi", "--harness", "kimi@x", "--report"], { harness: "kimi@x", isReport: true }],
    [["hook"], { family: "" }],
    [["hook", "--connection", "/a", "--forward"], { connection: "/a", isReport: false, isForwarder: true }],
    [["hook", "--report"], { family: "", isReport: true }],
  ])("%j are %j", (words, asked) => {
    expect(hookArguments(words)).toMatchObject(asked);
  });
});
