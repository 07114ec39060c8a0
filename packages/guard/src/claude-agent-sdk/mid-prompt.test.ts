import "../testing/clean-environment.ts";

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyInput } from "../policy/policy.ts";
import { PATIENCE, sdkUnderTest, shell } from "../testing/claude-session.ts";
import type { ModelReply, ModelRequest } from "../testing/scripted-model/index.ts";
import { optionsFor } from "./session-options.ts";

const { setup, session } = sdkUnderTest();
const CEILING = 30_000;

const notes = () => {
  try {
    return readFileSync(join(setup.home, "notes.txt"), "utf8").trim().split("\n");
  } catch {
    return [];
  }
};
beforeEach(() => rmSync(join(setup.home, "notes.txt"), { force: true }));

/** Works through `steps` notes. The file records finished steps, so a fresh session can read them. */
function writer(steps: number, output = "head -c 16000 big.txt") {
  return ({ promptTokens }: ModelRequest): ModelReply => {
    const next = notes().length + 1;
    if (next > steps) return { text: `All ${steps} notes are written.` };
    return shell(`echo note ${next} >> notes.txt; ${output}`, promptTokens);
  };
}

const only = (ceiling: number | null, hard: number | null = null): PolicyInput => ({
  thresholds: { warning: null, ceiling, soft: null, hard },
  pace: { minTurns: 2 },
});

const results = (messages: readonly SDKMessage[]) => messages.filter(({ type }) => type === "result");
const text = (request: ModelRequest) => JSON.stringify(request.messages);

describe("a long prompt of the Claude Agent SDK", () => {
  it(
    "stops at its line instead of at its end, and continues in a fresh session with one answer [P9]",
    async () => {
      const { claude, send, asked, events, said } = await session(writer(12), { policy: only(CEILING) });
      const messages = await send("Write twelve notes. Never touch big.txt.");
      const [first, ...others] = asked();
      expect(first!.promptTokens).toBeLessThan(CEILING / 2);
      for (const { promptTokens } of others) expect(promptTokens).toBeLessThan(CEILING);
      expect(claude.guard.state.peak).toBeGreaterThan(CEILING * 0.75);
      expect(notes()).toEqual(Array.from({ length: 12 }, (_, n) => `note ${n + 1}`));
      const restarted = events.filter(({ type }) => type === "restarted");
      expect(restarted.length).toBeGreaterThan(1);
      for (const event of restarted) expect(event).toMatchObject({ reason: "ceiling" });
      expect(said).toHaveLength(restarted.length);
      expect(results(messages)).toMatchObject([
        { subtype: "success", result: "All 12 notes are written.", session_id: claude.sessionId },
      ]);
      const fresh = others.find((request) => text(request).includes("This session replaces one"))!;
      expect(text(fresh)).toContain("Write twelve notes. Never touch big.txt.");
      expect(text(fresh)).toContain("Tools used: Bash x");
      expect(text(fresh).match(/Write twelve notes/g)!.length).toBeLessThan(3);
    },
    PATIENCE,
  );

  it(
    "is stopped when all tools of a response have answered, and repeats none of them",
    async () => {
      const batch = (request: ModelRequest): ModelReply => {
        const next = notes().length + 1;
        if (next > 12) return { text: "Done." };
        const calls = [0, 1, 2].map((at) =>
          shell(`sleep 0.0${3 - at}; echo ${at} >> notes.txt; head -c 8000 big.txt`, 0),
        );
        return { calls: calls.flatMap((one) => one.calls), promptTokens: request.promptTokens };
      };
      const { send, asked, events } = await session(batch, { policy: only(CEILING) });
      const messages = await send("Write notes.");
      expect(events.some(({ type }) => type === "restarted")).toBe(true);
      expect([...notes()].sort()).toEqual(["0", "0", "0", "0", "1", "1", "1", "1", "2", "2", "2", "2"]);
      for (const { promptTokens } of asked()) expect(promptTokens).toBeLessThan(CEILING);
      expect(results(messages)).toHaveLength(1);
    },
    PATIENCE,
  );

  it(
    "stops at its line however slowly the caller reads",
    async () => {
      const { claude, asked } = await session(writer(8), { policy: only(CEILING) });
      let answers = 0;
      for await (const { type } of claude.send("Write eight notes.")) {
        await new Promise((resolve) => setTimeout(resolve, 40));
        if (type === "result") answers++;
      }
      expect(answers).toBe(1);
      expect(notes()).toHaveLength(8);
      for (const { promptTokens } of asked()) expect(promptTokens).toBeLessThan(CEILING);
    },
    PATIENCE,
  );

  it(
    "only reports its crossings with `warn_only`",
    async () => {
      const { claude, send, events } = await session(writer(8), {
        policy: { ...only(20_000, 25_000), mode: "warn_only" },
      });
      const messages = await send("Write eight notes.");
      expect(claude.guard.state.peak).toBeGreaterThan(25_000);
      expect(results(messages)).toMatchObject([{ result: "All 8 notes are written." }]);
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["turn", "threshold_crossed"]));
    },
    PATIENCE,
  );

  it(
    "gets a notice and its grace turns at the hard line, and then a fresh session",
    async () => {
      const policy = { ...only(null, 25_000), restart: { graceTurns: 2 } };
      const { send, asked, events } = await session(writer(9, "head -c 12000 big.txt"), { policy });
      const messages = await send("Write nine notes.");
      const types = events
        .map(({ type }) => type)
        .filter((type) => type === "wind_down" || type === "restarted");
      expect(types.slice(0, 2)).toEqual(["wind_down", "restarted"]);
      expect(events.filter(({ type }) => type === "restarted")[0]).toMatchObject({ reason: "grace_spent" });
      expect(
        asked().filter((request) => text(request).includes("Finish what you are doing, write your notes")),
      ).toHaveLength(2);
      expect(notes()).toHaveLength(9);
      expect(results(messages)).toHaveLength(1);
    },
    PATIENCE,
  );

  it(
    "asks once a prompt before a restart at the hard line",
    async () => {
      for (const [answer, sessions] of [
        [true, 2],
        [false, 1],
      ] as const) {
        rmSync(join(setup.home, "notes.txt"), { force: true });
        let questions = 0;
        const confirm = async () => {
          questions++;
          return answer;
        };
        const policy = { ...only(null, 25_000), restart: { how: "ask" as const, graceTurns: 1 } };
        const { send, events } = await session(writer(7), { policy, confirm });
        await send("Write seven notes.");
        expect(questions).toBe(1);
        expect(new Set(events.map(({ window }) => window)).size).toBe(sessions);
        expect(events.filter(({ type }) => type === "withheld")).toHaveLength(answer ? 0 : 1);
        expect(notes()).toHaveLength(7);
        await setup.model!.close();
      }
    },
    PATIENCE,
  );

  it(
    "restarts before a prompt that would fill the window",
    async () => {
      const { send, asked, events } = await session(writer(9), { policy: only(null, null), window: CEILING });
      await send("Write nine notes.");
      expect(events.filter(({ type }) => type === "restarted")[0]).toMatchObject({ reason: "window_full" });
      for (const { promptTokens } of asked()) expect(promptTokens).toBeLessThan(CEILING);
      expect(notes()).toHaveLength(9);
    },
    PATIENCE,
  );

  it(
    "does not restart again and again if a fresh session starts above its line",
    async () => {
      const { send, events } = await session(writer(8, "true"), {
        policy: { ...only(1_000), pace: { minTurns: 0 } },
      });
      const messages = await send("Write eight notes.");
      expect(results(messages)).toMatchObject([{ result: "All 8 notes are written." }]);
      expect(notes()).toHaveLength(8);
      expect(events.filter(({ type }) => type === "restarted")).toHaveLength(1);
      expect(events.filter(({ type }) => type === "withheld")).toMatchObject([{ reason: "no_gain" }]);
    },
    PATIENCE,
  );

  it(
    "does not restart again and again if each step fills the window",
    async () => {
      let calls = 0;
      const huge = () =>
        calls++ < 12 ? shell("cat big.txt big.txt big.txt big.txt", 15_000) : { text: "Enough." };
      const { send, events } = await session(huge, { policy: { ...only(CEILING), pace: { minTurns: 4 } } });
      const messages = await send("Read it.");
      expect(results(messages)).toMatchObject([{ result: "Enough." }]);
      expect(events.filter(({ type }) => type === "restarted").length).toBeLessThan(4);
    },
    PATIENCE,
  );

  it(
    "stops with an error when no restart is left, and continues with `onStop: send`",
    async () => {
      const policy = { ...only(null, 25_000), restart: { graceTurns: 1, max: 0 } };
      const { send, events } = await session(writer(9), { policy });
      await expect(send("Write nine notes.")).rejects.toMatchObject({ code: "max_restarts" });
      expect(notes().length).toBeLessThan(9);
      expect(events.filter(({ type }) => type === "withheld")).toMatchObject([{ reason: "max_restarts" }]);
      await setup.model!.close();
      rmSync(join(setup.home, "notes.txt"));
      const open = await session(writer(9), { policy, onStop: "send" });
      expect(results(await open.send("Write nine notes."))).toMatchObject([
        { result: "All 9 notes are written." },
      ]);
      expect(open.events.filter(({ type }) => type === "withheld")).toHaveLength(1);
    },
    PATIENCE,
  );

  it(
    "does not wait for a summariser that hangs",
    async () => {
      const errors: unknown[] = [];
      const { send, asked } = await session(writer(7), {
        policy: only(CEILING),
        summarize: () => new Promise(() => {}),
        summarizeMs: 50,
        onSummaryError: (error) => errors.push(error),
      });
      expect(results(await send("Write seven notes."))).toHaveLength(1);
      expect(errors).toMatchObject([{ name: "TimeoutError" }]);
      expect(asked().some((request) => text(request).includes("Tools used: Bash"))).toBe(true);
    },
    PATIENCE,
  );

  it(
    "opens no fresh session after an abort",
    async () => {
      const abortController = new AbortController();
      const { claude, send, events } = await session(writer(20), {
        policy: only(CEILING),
        options: { abortController },
        summarize: () => {
          abortController.abort(new Error("the user left"));
          return new Promise(() => {});
        },
      });
      await expect(send("Write twenty notes.")).rejects.toThrow();
      expect(notes().length).toBeLessThan(20);
      expect(events.filter(({ type }) => type === "restarted")).toEqual([]);
      expect(claude.sessionId).toBeDefined();
    },
    PATIENCE,
  );

  it(
    "has the turns and the cost of all its sessions in its result",
    async () => {
      const { send, asked, events } = await session(writer(7), { policy: only(CEILING) });
      const [result] = results(await send("Write seven notes.")) as Extract<SDKMessage, { type: "result" }>[];
      expect(events.filter(({ type }) => type === "restarted")).toHaveLength(1);
      const prompt = asked().reduce((sum, { promptTokens }) => sum + promptTokens, 0);
      const { usage, modelUsage } = result!;
      expect(usage.input_tokens + usage.cache_read_input_tokens).toBe(prompt);
      const model = modelUsage["claude-opus-5"]!;
      expect(model.inputTokens + model.cacheReadInputTokens).toBe(prompt);
      expect(result!.total_cost_usd).toBeCloseTo(model.costUSD, 6);
      expect(model.contextWindow).toBe(1_000_000);
    },
    PATIENCE,
  );

  it(
    "ends with the caller's `interrupt`, and the next prompt continues the session",
    async () => {
      const { claude, send, asked } = await session(writer(10, "sleep 0.05"), { policy: only(CEILING) });
      let interrupted = false;
      for await (const message of claude.send("Write ten notes.")) {
        if (message.type === "user" && notes().length >= 2 && !interrupted) {
          interrupted = true;
          await claude.interrupt();
        }
      }
      const done = notes().length;
      expect(done).toBeLessThan(10);
      const before = claude.sessionId;
      await send("How far are you?");
      expect(claude.sessionId).toBe(before);
      expect(text(asked().at(-1)!)).toContain("How far are you?");
      expect(text(asked().at(-1)!)).toContain("Write ten notes.");
    },
    PATIENCE,
  );

  it(
    "is over when the caller stops reading, and the session stays usable",
    async () => {
      const write = writer(10, "sleep 0.05");
      // The SDK lets a tool that already runs finish, beside the next process. So the first one is given one step only.
      const script = (request: ModelRequest) =>
        notes().length === 0 || text(request).includes("Write the rest.")
          ? write(request)
          : new Promise<ModelReply>(() => {});
      const { claude, send } = await session(script, { policy: only(CEILING) });
      for await (const message of claude.send("Write ten notes.")) if (message.type === "user") break;
      const messages = await send("Write the rest.");
      expect(results(messages)).toMatchObject([{ result: "All 10 notes are written." }]);
      expect(notes()).toHaveLength(10);
    },
    PATIENCE,
  );

  it(
    "gets no more turns or budget by continuing in a fresh session",
    async () => {
      const { claude, asked, events } = await session(writer(40), {
        policy: only(CEILING),
        options: { maxTurns: 12 },
      });
      const subtypes: unknown[] = [];
      // The SDK reports the limit as a result, and then as an error.
      await expect(
        (async () => {
          for await (const message of claude.send("Write forty notes."))
            if (message.type === "result") subtypes.push(message.subtype);
        })(),
      ).rejects.toThrow("maximum number of turns");
      expect(subtypes).toEqual(["error_max_turns"]);
      expect(asked()).toHaveLength(12);
      expect(events.some(({ type }) => type === "restarted")).toBe(true);
      const left = optionsFor({ maxBudgetUsd: 2 }, "new", { turns: 3, spentUsd: 0.5 });
      expect(left).toEqual({ maxBudgetUsd: 1.5 });
    },
    PATIENCE,
  );
});
