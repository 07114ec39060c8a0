import "../testing/clean-environment.ts";

import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import type { RestartPolicy } from "../policy/policy.ts";
import { PATIENCE, sdkUnderTest } from "../testing/claude-session.ts";
import { capOutput } from "./cap-output.ts";
import { ClaudeSession, type SdkUserMessage } from "./index.ts";

const { setup, session } = sdkUnderTest();

/** The text of the first prompt of a stand-in for `query`. */
async function textOf(prompt: AsyncIterable<SdkUserMessage>): Promise<string> {
  for await (const { message } of prompt) return String(message.content);
  return "";
}

type Hook = (input: object) => Promise<{ hookSpecificOutput?: { additionalContext?: string } }>;

/** Creates a session in which every prompt ends above the hard line, and collects the notices to the agent. */
function atHardLine({ restart, ...over }: { restart: Partial<RestartPolicy> } & object) {
  const events: PlimsollEventInput[] = [];
  const told: string[] = [];
  let calls = 0;
  const claude = new ClaudeSession({
    identity: { harness: "test", session: "s" },
    window: 100_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: null, hard: 90_000 }, restart },
    onEvent: (event) => events.push(event),
    query: async function* ({ options }: { options?: { hooks: { PostToolBatch: { hooks: Hook[] }[] } } }) {
      yield { type: "system", subtype: "init", session_id: `s${++calls}` };
      for (const input_tokens of [20_000, 95_000]) {
        const id = `m${calls}.${input_tokens}`;
        const message = { id, model: "claude-opus-5", usage: { input_tokens }, content: [] };
        yield { type: "assistant", message };
      }
      const { hookSpecificOutput } = await options!.hooks.PostToolBatch[0]!.hooks[0]!({ tool_calls: [] });
      if (hookSpecificOutput?.additionalContext !== undefined)
        told.push(hookSpecificOutput.additionalContext);
    },
    ...over,
  });
  return { claude, events, told };
}

describe("the Claude Agent SDK", () => {
  it(
    "is measured per response, has its tool output shortened, and is continued in a fresh session at the ceiling [P9]",
    async () => {
      let calls = 0;
      const { claude, events, said, send } = await session(
        (request) => {
          calls++;
          if (calls === 1)
            return {
              text: "Reading.",
              calls: [{ name: "Bash", arguments: { command: "cat big.txt", description: "read" } }],
              promptTokens: 30_000,
            };
          if (calls === 2) return { text: "The file is long.", promptTokens: 45_000 };
          return { text: "Here again.", promptTokens: request.promptTokens };
        },
        { maxToolOutputChars: 2_000 },
      );

      const first = await send("What is in big.txt?");
      expect(first.at(-1)).toMatchObject({ type: "result", subtype: "success" });
      const turns = events.filter((event) => event.type === "turn");
      expect(new Set(turns.map((turn) => turn.id)).size).toBe(2);
      expect(claude.guard.state.level).toBe(45_000);
      expect(events.filter((event) => event.type === "threshold_crossed")).toMatchObject([
        { threshold: "warning", direction: "up", context_tokens: 30_000 },
        { threshold: "ceiling", direction: "up", context_tokens: 45_000 },
      ]);
      const second = JSON.stringify(
        setup
          .model!.requests.filter((request) => JSON.stringify(request.messages).includes("tool_result"))
          .at(-1)!.messages,
      );
      const leftOut = /\[(\d+) characters left out here to spare the context/.exec(second)![1];
      expect(events.filter((event) => event.type === "output_cut")).toMatchObject([
        { agent: "main", tool: "Bash", characters: Number(leftOut), window: 0 },
      ]);
      expect(second.match(/a line of the big file/g)!.length).toBeLessThan(120);

      const before = claude.sessionId;
      await send("And now?");
      expect(said).toEqual(["This thread is getting long, I'm compacting my context to stay sharp"]);
      expect(claude.sessionId).not.toBe(before);
      expect(events.filter((event) => event.type === "restarted")).toMatchObject([
        { number: 2, reason: "ceiling", previous_turns: 2 },
      ]);
      const last = JSON.stringify(setup.model!.requests.at(-1)!.messages);
      expect(last).toContain("continues from an earlier session");
      expect(last).toContain("Asked: What is in big.txt?");
      expect(last).toContain("And now?");
      expect(last).not.toContain("a line of the big file a line");
      expect(events.at(-1)).toMatchObject({ window: 1 });
    },
    PATIENCE,
  );

  it(
    "resumes the same session below the ceiling, and winds down once at the hard line",
    async () => {
      let calls = 0;
      const { claude, events, said, send } = await session(
        () => {
          calls++;
          if (calls === 1) return { text: "Hello.", promptTokens: 10_000 };
          if (calls < 5)
            return {
              calls: [{ name: "Bash", arguments: { command: "echo one", description: "say one" } }],
              promptTokens: 185_000,
            };
          return { text: "Done.", promptTokens: 186_000 };
        },
        {
          policy: { thresholds: { warning: null, ceiling: null, soft: null, hard: 180_000 } },
          noticeCounts: "always",
        },
      );
      await send("Hello");
      const before = claude.sessionId;
      await send("Go on");
      expect(claude.sessionId).toBe(before);
      expect(said).toEqual([]);
      const sent = JSON.stringify(setup.model!.requests.at(-1)!.messages);
      expect(sent.match(/Context running low/g)).toHaveLength(1);
      expect(events.filter((event) => event.type === "wind_down")).toMatchObject([
        { context_tokens: 185_000 },
      ]);
      expect(sent).toContain("In 3 turns the session is restarted");
    },
    PATIENCE,
  );

  it("carries the handoff until a session has received it, even if calls fail [P9]", async () => {
    const prompts: string[] = [];
    let away = false;
    const claude = new ClaudeSession({
      identity: { harness: "test", session: "s" },
      window: 100_000,
      policy: { thresholds: { warning: null, ceiling: 40_000, soft: null, hard: null } },
      query: async function* ({ prompt }: { prompt: AsyncIterable<SdkUserMessage> }) {
        prompts.push(await textOf(prompt));
        if (away) throw new Error("no network");
        const message = { id: `m${prompts.length}`, model: "claude-opus-5", usage: { input_tokens: 50_000 } };
        yield { type: "system", subtype: "init", session_id: `s${prompts.length}` };
        yield { type: "assistant", message: { ...message, content: [{ type: "text", text: "Noted." }] } };
      },
    });
    const send = async (prompt: string) => {
      for await (const _ of claude.send(prompt)) {
      }
    };
    await send("The code word is heron.");
    away = true;
    await expect(send("Which is it?")).rejects.toThrow("no network");
    away = false;
    await send("Which is it, then?");
    expect(prompts[2]).toContain("heron");
    expect(prompts[2]).toContain("Which is it, then?");
  });

  it.each<[string, Partial<RestartPolicy>, object, number, string | undefined, string | undefined, number]>([
    ["throws when no restart is left", { max: 1 }, {}, 2, "max_restarts", "none is left", 1],
    [
      "continues without a restart with `onStop: send`",
      { max: 1 },
      { onStop: "send" },
      2,
      undefined,
      "none is left",
      1,
    ],
    [
      "restarts after confirmation",
      { how: "ask" },
      { confirm: () => true },
      3,
      undefined,
      "waits to be restarted",
      0,
    ],
    [
      "stays in its session without confirmation",
      { how: "ask" },
      {},
      1,
      undefined,
      "waits to be restarted",
      2,
    ],
    ["neither restarts nor winds down with `how: off`", { how: "off" }, {}, 1, undefined, undefined, 0],
  ])("%s", async (_, restart, over, sessions, code, said, asked) => {
    const { claude, events, told } = atHardLine({ restart, ...over });
    let failure: unknown;
    for (let prompt = 0; prompt < 3; prompt++) {
      try {
        for await (const _ of claude.send(`prompt ${prompt}`)) {
        }
      } catch (error) {
        failure = error;
      }
    }
    expect((failure as { code?: string } | undefined)?.code).toBe(code);
    expect(new Set(events.map(({ window }) => window)).size).toBe(sessions);
    if (said === undefined) expect(told).toEqual([]);
    else expect(told.at(-1)).toContain(said);
    const withheld = events.filter((event) => event.type === "withheld");
    const due = restart.how === undefined ? "max_restarts" : "unconfirmed";
    for (const event of withheld) expect(event).toMatchObject({ response: "restart", reason: due });
    expect(withheld).toHaveLength(asked);
    const restarted = events.filter((event) => event.type === "restarted");
    expect(restarted).toHaveLength(sessions - 1);
    for (const event of restarted) expect(event).toMatchObject({ reason: "grace_spent" });
  });

  it("does not start fresh sessions repeatedly if each starts above the ceiling", async () => {
    const events: PlimsollEventInput[] = [];
    let sessions = 0;
    let calls = 0;
    let level = 45_000;
    const claude = new ClaudeSession({
      identity: { harness: "test", session: "s" },
      window: 200_000,
      policy: { thresholds: { warning: null, ceiling: 40_000, soft: null, hard: "90%" } },
      onEvent: (event) => events.push(event),
      query: async function* ({ options }: { options?: { resume?: string } }) {
        if (options?.resume === undefined) level = 45_000;
        yield { type: "system", subtype: "init", session_id: options?.resume ?? `s${++sessions}` };
        const usage = { input_tokens: level };
        yield { type: "assistant", message: { id: `m${++calls}`, model: "m", usage, content: [] } };
        level += 1_000;
      },
    });
    const send = async (prompts: number) => {
      for (let prompt = 0; prompt < prompts; prompt++)
        for await (const _ of claude.send("go")) {
        }
    };
    await send(5);
    expect(sessions).toBe(2);
    expect(events.filter(({ type }) => type === "withheld")).toMatchObject([
      { response: "restart", reason: "no_gain", context_tokens: 45_000 },
    ]);
    await send(3);
    expect(sessions).toBe(3);
    expect(events.filter(({ type }) => type === "restarted")).toHaveLength(2);
  });

  it("winds down once while the level moves around the hard line", async () => {
    const told: unknown[] = [];
    const usage = (at: number, tokens: number) => ({
      type: "assistant",
      message: { id: `m${at}`, model: "claude-opus-5", usage: { input_tokens: tokens }, content: [] },
    });
    const claude = new ClaudeSession({
      identity: { harness: "test", session: "s" },
      window: 100_000,
      policy: { thresholds: { warning: null, ceiling: null, soft: null, hard: 90_000 } },
      query: async function* ({ options }: { options?: { hooks: { PostToolBatch: { hooks: Hook[] }[] } } }) {
        const hook = options!.hooks.PostToolBatch[0]!.hooks[0]!;
        for (const [at, tokens] of [91_000, 89_900, 90_100, 60_000, 92_000].entries()) {
          yield usage(at, tokens);
          const { hookSpecificOutput } = await hook({ tool_calls: [] });
          told.push(hookSpecificOutput?.additionalContext !== undefined);
        }
      },
    });
    for await (const _ of claude.send("go")) {
    }
    expect(told).toEqual([true, false, false, false, true]);
  });

  it("reports the tool of each shortened output, and leaves output whole that it cannot store", async () => {
    const events: PlimsollEventInput[] = [];
    let room = 1;
    const claude = new ClaudeSession({
      identity: { harness: "test", session: "s" },
      onEvent: (event) => events.push(event),
      maxToolOutputChars: 500,
      store: {
        get: () => undefined,
        put: () => {
          if (room-- === 0) throw new Error("disk full");
        },
      },
      query: async function* ({ options }: { options?: { hooks: { PostToolUse: { hooks: Hook[] }[] } } }) {
        yield { type: "user" };
        const hook = options!.hooks.PostToolUse[0]!.hooks[0]!;
        for (const tool_use_id of ["t1", "t2"]) {
          await hook({ agent_id: "a1", tool_name: "Read", tool_use_id, tool_response: "x".repeat(9_000) });
        }
      },
    });
    for await (const _ of claude.send("go")) {
    }
    expect(events).toMatchObject([
      { type: "output_cut", agent: "a1", parent_agent: "main", tool: "Read", characters: expect.any(Number) },
    ]);
    expect(events[0]).not.toHaveProperty("window");
  });

  it("reports the SDK's own compactions as automatic", async () => {
    const { claude, events } = await session(() => ({ text: "x" }));
    const fake = new ClaudeSession({
      identity: claude.guard.identity,
      onEvent: (event) => events.push(event),
      query: async function* () {
        yield {
          type: "system",
          subtype: "compact_boundary",
          uuid: "b1",
          session_id: "x",
          compact_metadata: { trigger: "auto", pre_tokens: 167_000, post_tokens: 5_706 },
        };
      },
    });
    for await (const _ of fake.send("hello")) {
    }
    expect(events.at(-1)).toMatchObject({
      type: "compacted",
      id: "b1",
      trigger: "auto",
      tokens_before: 167_000,
    });
    expect(events.at(-1)).not.toHaveProperty("tokens_after");
  });
});

describe("capOutput", () => {
  it("keeps the structure of a tool's output, and the start and end of its texts", () => {
    const output = { stdout: `start${"x".repeat(10_000)}finish`, stderr: "", interrupted: false };
    const { output: made, leftOut } = capOutput(output, 1_000)!;
    const capped = made as typeof output;
    expect(capped.stdout).toContain(`[${leftOut} characters left out`);
    expect(capped.stdout.length).toBeLessThanOrEqual(1_000);
    expect(capped.stdout).toMatch(/^start.*left out.*finish$/s);
    expect(capped).toMatchObject({ stderr: "", interrupted: false });
    expect(capOutput({ stdout: "short" }, 1_000)).toBeUndefined();
  });
});
