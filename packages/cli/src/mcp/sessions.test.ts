import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ClaudeAgent } from "../testing/claude-agent.ts";
import { type BoundOrRefused, Sessions } from "./sessions.ts";

let home = "";
let sessions: Sessions;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-sessions-"));
  const places = { home, project: home, env: {}, platform: process.platform };
  sessions = new Sessions({ places, argument: undefined, now: Date.now, patienceMs: 20 });
});
afterEach(async () => {
  await sessions.close();
  await rm(home, { recursive: true, force: true });
});

const ask = (call: string) => sessions.caller({ "claudecode/toolUseId": call });
function boundOf(answer: BoundOrRefused) {
  if ("refused" in answer) throw new Error(answer.refused);
  return answer;
}

describe("a session that grows long", () => {
  it("has its level, its falls and its pace at each call", async () => {
    const agent = new ClaudeAgent(home).prompt("Go");
    let falls = 0;
    let level = 20_000;
    for (let step = 1; step <= 600; step += 1) {
      level += 1_000;
      if (step % 110 === 0) {
        agent.compaction("All was done.");
        falls += 1;
        level = 21_000;
      }
      const call = agent.call(level);
      if (step % 23 === 0 || step % 110 < 2) {
        const { levels } = boundOf(await ask(call));
        expect(levels).toMatchObject([{ counted: level, windowTokens: 200_000, isOutdated: false }]);
        expect(levels[0]!.falls).toHaveLength(falls);
        expect(levels[0]!.recent.at(-1)).toBe(level);
        expect(levels[0]!.recent.length).toBe(Math.min(12, step % 110 === step ? step : (step % 110) + 1));
      }
      agent.result(call, "ok");
    }
  });

  it("has what its whole window holds", async () => {
    const agent = new ClaudeAgent(home).prompt("Go");
    for (let step = 1; step <= 300; step += 1)
      agent.result(agent.call(10_000 + step * 100, "Read"), "const level = line * load;\n".repeat(20));
    const [held] = boundOf(await ask(agent.call(50_000))).contents();
    expect(held!.items.filter(({ kind }) => kind === "tool_result")).toHaveLength(300);
  });
});

describe("a thread of Codex", () => {
  const A = "019a0000-0000-7000-8000-00000000000a";
  const B = "019a0000-0000-7000-8000-00000000000b";
  const write = async (thread: string, level: number, more: object = {}) => {
    const line = (ms: number, type: string, payload: object) =>
      `${JSON.stringify({ timestamp: new Date(Date.UTC(2026, 10, 28, 9) + ms).toISOString(), type, payload })}\n`;
    const usage = {
      input_tokens: level,
      cached_input_tokens: 0,
      output_tokens: 50,
      total_tokens: level + 50,
    };
    const info = { last_token_usage: usage, total_token_usage: usage, model_context_window: 258_400 };
    const folder = join(home, ".codex/sessions/2026/11/28");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, `rollout-2026-11-28T09-00-00-${thread}.jsonl`),
      line(0, "session_meta", {
        id: thread,
        timestamp: new Date(Date.UTC(2026, 10, 28, 9)).toISOString(),
        ...more,
      }) +
        line(1, "turn_context", { model: "gpt-6" }) +
        line(5_000, "event_msg", { type: "token_count", info }),
    );
  };

  it("is the caller that the call names, and a sub-agent is an agent of its session", async () => {
    await write(A, 88_000);
    await write(B, 31_000, { source: { subagent: { thread_spawn: { parent_thread_id: A, depth: 1 } } } });
    const main = boundOf(await sessions.caller({ threadId: A, callId: "call_1" }));
    expect(main).toMatchObject({ session: A, agent: "main", by: "session" });
    expect(main.levels).toMatchObject([
      { agent: "main", counted: 88_000, level: 88_050, windowTokens: 258_400 },
      { agent: `agent-${B}`, parent: "main", counted: 31_000 },
    ]);
    const sub = boundOf(await sessions.caller({ "x-codex-turn-metadata": { thread_id: B } }));
    expect(sub).toMatchObject({ session: A, agent: `agent-${B}` });
    expect(sub.levels).toMatchObject([{ agent: `agent-${B}`, counted: 31_000 }]);
  });

  it("is not found by a part of its name, or by a path", async () => {
    await write(A, 88_000);
    for (const threadId of [A.slice(-12), "000a", ".*", `../28/${A}`, "jsonl", `${A}.jsonl`])
      expect(await sessions.caller({ threadId }), threadId).toEqual({ refused: "not_recorded" });
  });
});

describe("a machine whose time is not even", () => {
  it("has the call that was written before a pause", async () => {
    const agent = new ClaudeAgent(home).prompt("Go");
    boundOf(await ask(agent.call(20_000)));
    const call = agent.call(30_000);
    const before = new Date(Date.now() - 3_600_000);
    await utimes(agent.path, before, before);
    expect(boundOf(await ask(call)).levels).toMatchObject([{ counted: 30_000 }]);
  });

  it("keeps no call waiting when its clock is set back", async () => {
    const places = { home, project: home, env: {}, platform: process.platform };
    let reads = 0;
    const now = () => Date.now() - (reads++ === 0 ? 0 : 3_600_000);
    const own = new Sessions({ places, argument: undefined, now, patienceMs: 20 });
    expect(await own.caller({ "claudecode/toolUseId": "toolu_never" })).toEqual({ refused: "not_recorded" });
    await own.close();
  });
});

describe("what a call says of itself", () => {
  it("never makes the server fail or take a session that it does not prove", async () => {
    const agent = new ClaudeAgent(home).prompt("Go");
    agent.result(agent.call(20_000), "ok");
    const odd = fc.oneof(
      fc.string(),
      fc.jsonValue(),
      fc.constantFrom("tool_use", "x".repeat(10_000), '"', "\\"),
    );
    const key = fc.constantFrom("claudecode/toolUseId", "threadId", "sessionId", "x-codex-turn-metadata");
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.dictionary(key, odd), odd), async (meta) => {
        expect(await sessions.caller(meta)).toHaveProperty("refused");
      }),
      { numRuns: 60 },
    );
  });
});
