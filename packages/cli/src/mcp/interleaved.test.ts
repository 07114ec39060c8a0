import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ClaudeAgent } from "../testing/claude-agent.ts";
import { Sessions } from "./sessions.ts";

/** Tokens between the levels of two agents, so that a level names its agent. */
const APART = 1_000;
const RUNS = 20;
const CALLS = 50;

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-interleaved-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** Who calls next, of which server, and whether its session was cleared or a sub-agent began before. */
const step = fc.record({
  harness: fc.nat({ max: 2 }),
  agent: fc.nat({ max: 3 }),
  before: fc.constantFrom("nothing", "nothing", "nothing", "nothing", "clear", "subagent", "other_call"),
});

/** A process of a harness with its server: a session, which /clear replaces, and its sub-agents. */
interface Harness {
  sessions: Sessions;
  agents: ClaudeAgent[];
}

describe("calls of several sessions and sub-agents", () => {
  it("are answered about their own agent, in any order", { timeout: 300_000 }, async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: CALLS, maxLength: CALLS }), async (steps) => {
        const levels = new Map<ClaudeAgent, number>();
        const begin = (more: object = {}) => {
          const agent = new ClaudeAgent(home, more).prompt("Go");
          levels.set(agent, 10_000 + levels.size * APART);
          return agent;
        };
        const open = (): Harness => {
          const main = begin();
          const env = { CLAUDE_CODE_SESSION_ID: main.session };
          const places = { home, project: home, env, platform: process.platform };
          return { sessions: new Sessions({ places, argument: undefined, now: Date.now }), agents: [main] };
        };
        const harnesses = [open(), open(), open()];
        const asked = steps.map(async ({ harness: which, agent: one, before }, index) => {
          const harness = harnesses[which]!;
          if (before === "clear") harness.agents = [begin()];
          if (before === "subagent")
            harness.agents.push(begin({ session: harness.agents[0]!.session, subagent: `a${index}` }));
          const agent = harness.agents[one % harness.agents.length]!;
          if (before === "other_call") agent.call(levels.get(agent)!, "Bash");
          const call = agent.call(levels.get(agent)!);
          const bound = await harness.sessions.caller({ "claudecode/toolUseId": call });
          if ("refused" in bound) throw new Error(`refused: ${bound.refused}`);
          expect(bound.session).toBe(agent.session);
          expect(bound.levels.find((level) => level.agent === bound.agent)?.counted).toBe(levels.get(agent));
          answered += 1;
        });
        // All at once: the servers answer while others write.
        await Promise.all(asked);
        for (const { sessions } of harnesses) await sessions.close();
      }),
      { numRuns: RUNS },
    );
    expect(answered).toBeGreaterThanOrEqual(RUNS * CALLS);
  });
});
