import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "@plimsoll/guard";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { counted, expectPaired, toolTurn, words } from "../../../guard/src/testing/test-guard.ts";
import { fileSessionsStore } from "../node/index.ts";
import { runSessions, type SessionsOptions } from "./index.ts";

const POLICY = { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "90%" } } as const;

function setup(over: Partial<SessionsOptions<Message>> & { sizes: readonly number[] }) {
  const sent: (readonly Message[])[] = [];
  const { sizes, ...rest } = over;
  let turn = 0;
  const options: SessionsOptions<Message> = {
    identity: { harness: "ouro", session: "s" },
    policy: POLICY,
    window: 10_000,
    tokenizer: words,
    noticeCounts: "always",
    loadSystemPrompt: () => "be useful",
    start: { role: "user", content: "begin" },
    turn: async ({ messages }) => {
      sent.push(messages);
      const size = sizes[turn++]!;
      return {
        messages: toolTurn(size, "shell_exec", { command: `step ${turn}` }),
        usage: { id: `t${turn}`, usage: { prompt_tokens: counted(messages) } },
        done: turn === sizes.length,
      };
    },
    ...rest,
  };
  return { options, sent };
}

describe("runSessions", () => {
  it.each<[options: object, message: string]>([
    [{ maxTurn: 3 }, "maxTurn: is no option. Options: identity, policy,"],
    [
      { loadPrompt: () => "" },
      ", title, loadSystemPrompt, system, start, turn, sessionStore, maxTurns, signal,",
    ],
    [{ summarizeMs: 5 }, "summarizeMs: is no option."],
    [{ confirm: true }, "confirm: true must be a function."],
  ])("refuses %j by its name, before the first turn", async (wrong, message) => {
    const { options, sent } = setup({ sizes: [1] });
    const run = runSessions({ ...options, ...wrong });
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toMatchObject({ code: "invalid_option" });
    expect(sent).toEqual([]);
  });

  it("masks, winds down once, and restarts with marker, prompt and the last turns [O5]", async () => {
    let prompt = "version one";
    const { options, sent } = setup({
      sizes: Array.from({ length: 40 }, () => 900),
      policy: { ...POLICY, mask: null, restart: { graceTurns: 1, carryoverTurns: 2 } },
      loadSystemPrompt: () => prompt,
    });
    const inner = options.turn;
    options.turn = async (input) => {
      prompt = `version of session ${input.session}`;
      return inner(input);
    };
    const result = await runSessions(options);
    expect(result.end).toBe("done");
    expect(result.sessions).toBeGreaterThan(2);
    const second = sent.find((messages) =>
      messages[1]!.content.startsWith("[Session restarted. Session #2."),
    )!;
    expect(second[0]!.content).toMatch(/^version of session 1\n\nYou are in session #2\./);
    expect(second[1]!.content).toMatch(
      /^\[Session restarted\. Session #2\. Previous session ran \d+ turns\.\]\n\[What the user said in it, word for word:\]\n- begin$/,
    );
    expect(second.filter((message) => message.role === "assistant")).toHaveLength(2);
    for (const messages of sent) {
      expectPaired(messages);
      const notices = messages.filter((message) => message.content.includes("Context running low"));
      expect(notices.length).toBeLessThanOrEqual(1);
    }
    expect(sent.flat().some((message) => message.content.includes("Context running low"))).toBe(true);
  });

  it("keeps the restart marker in a format without system messages", async () => {
    const { options, sent } = setup({
      sizes: Array.from({ length: 30 }, () => 900),
      policy: { ...POLICY, mask: null, restart: { graceTurns: 1, carryoverTurns: 2 } },
      loadSystemPrompt: () => "rules",
    });
    await runSessions({ ...options, system: (content): Message => ({ role: "user", content }) });
    const last = sent.at(-1)!;
    expect(last[0]!.content).toMatch(/^rules\n\nYou are in session #/);
    expect(last[1]!.content).toMatch(/^\[Session restarted\./);
    expect(last.filter(({ content }) => content.startsWith("rules"))).toHaveLength(1);
  });

  it("asks before restarting, and ends if the user declines [O6]", async () => {
    const asked: string[] = [];
    const { options } = setup({
      sizes: Array.from({ length: 20 }, () => 900),
      policy: { ...POLICY, mask: null, restart: { how: "ask", graceTurns: 1 } },
      say: (text) => asked.push(text),
      confirm: () => asked.length < 2,
    });
    const result = await runSessions(options);
    expect(result).toMatchObject({ end: "declined", sessions: 2 });
    expect(asked).toHaveLength(2);
  });

  it("stops at the maximum number of restarts or turns", async () => {
    const said: string[] = [];
    const { options } = setup({
      sizes: Array.from({ length: 60 }, () => 900),
      policy: { ...POLICY, mask: null, restart: { max: 1, graceTurns: 1 } },
      say: (text) => said.push(text),
    });
    expect(await runSessions(options)).toMatchObject({ end: "max_restarts", sessions: 2 });
    expect(said).toEqual(["Maximum of 1 restart reached; stopping."]);
    expect(await runSessions(setup({ sizes: [1, 1, 1], maxTurns: 2 }).options)).toMatchObject({
      end: "turns",
      turns: 2,
    });
  });

  it("continues a run with its session and number after a crash at any turn [O10]", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sessions-"));
    const sizes = Array.from({ length: 40 }, () => 900);
    const policy = { ...POLICY, mask: null, restart: { graceTurns: 1, carryoverTurns: 2 } };
    const whole = setup({ sizes, policy });
    const expected = await runSessions(whole.options);
    for (const crashAt of [1, 7, 11, 12, 13, 30]) {
      const { options, sent } = setup({ sizes, policy });
      const store = () => fileSessionsStore<Message>(join(folder, `${crashAt}.json`));
      const inner = options.turn;
      let calls = 0;
      const turn: typeof inner = async (input) => {
        if (++calls === crashAt) throw new Error("the process died");
        return inner(input);
      };
      await expect(runSessions({ ...options, sessionStore: store(), turn })).rejects.toThrow(
        "the process died",
      );
      const before = (await store().read())?.guard.session ?? 1;
      const result = await runSessions({ ...options, sessionStore: store() });
      expect(result).toMatchObject({ end: "done", sessions: expected.sessions, turns: 40 });
      expect(before).toBeGreaterThanOrEqual(1);
      const plain = (all: typeof sent) => all.map((messages) => messages.map(({ content }) => content));
      expect(plain(sent)).toEqual(plain(whole.sent));
    }
    await rm(folder, { recursive: true });
  });

  it("never starts a session above the soft line, whatever the size of its turns", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 5, maxLength: 40 }),
        async (sizes) => {
          const { options, sent } = setup({ sizes, policy: { ...POLICY, restart: { carryoverTurns: 8 } } });
          await runSessions(options);
          for (const [at, messages] of sent.entries()) {
            expectPaired(messages);
            expect(counted(messages)).toBeLessThanOrEqual(10_000);
            const began = messages[1]!.content.startsWith("[Session restarted");
            const before = sent[at - 1]?.[1]?.content;
            if (began && before !== messages[1]!.content) expect(counted(messages)).toBeLessThan(7_000);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("runs a thousand turns in a small window [O20]", async () => {
    const { options } = setup({ sizes: Array.from({ length: 1_000 }, (_, at) => 50 + ((at * 7_919) % 700)) });
    const result = await runSessions(options);
    expect(result).toMatchObject({ end: "done", turns: 1_000 });
  });
});
