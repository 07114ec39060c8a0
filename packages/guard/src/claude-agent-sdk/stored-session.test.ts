import "../testing/clean-environment.ts";

import { randomUUID } from "node:crypto";
import { getSessionMessages } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, it } from "vitest";
import { all, PATIENCE, sdkUnderTest } from "../testing/claude-session.ts";
import type { ModelRequest } from "../testing/scripted-model/index.ts";

const { setup, session } = sdkUnderTest();
const text = (request: ModelRequest) => JSON.stringify(request.messages);

/** Answers below the ceiling at first, and above it when asked about the weather. */
const talk = (request: ModelRequest) => {
  const high = text(request).includes("weather");
  return { text: high ? "It rains." : "Noted.", promptTokens: high ? 45_000 : 20_000 };
};

/** Leaves a session behind, as an earlier process of the harness does. */
async function stored() {
  const earlier = await session(talk);
  await earlier.send("The code word is heron.");
  return { ...earlier, id: earlier.claude.sessionId! };
}

describe("a stored session of the Claude Agent SDK", () => {
  it(
    "is opened first with `options.resume`, and a fresh session never resumes it [P9]",
    async () => {
      const { begin, asked, id } = await stored();
      const claude = begin({ options: { resume: id } });
      await all(claude.send("How is the weather?"));
      expect(claude.sessionId).toBe(id);
      expect(text(asked().at(-1)!)).toContain("heron");
      await all(claude.send("And now?"));
      expect(claude.sessionId).not.toBe(id);
      const fresh = asked().at(-1)!;
      expect(text(fresh)).toContain("Asked: How is the weather?");
      expect(text(fresh)).not.toContain("Noted.");
      await all(claude.send("Still there?"));
      expect(text(asked().at(-1)!)).not.toContain("Noted.");
      expect(text(asked().at(-1)!)).toContain("And now?");
    },
    PATIENCE,
  );

  it(
    "hands on what was said before this process, if the guard may read it",
    async () => {
      const { begin, asked, id } = await stored();
      const claude = begin({ options: { resume: id }, getSessionMessages: withHome() });
      await all(claude.send("How is the weather?"));
      await all(claude.send("And now?"));
      expect(claude.sessionId).not.toBe(id);
      expect(text(asked().at(-1)!)).toContain("The code word is heron.");
    },
    PATIENCE,
  );

  it(
    "is continued or forked once, and a fresh session is not",
    async () => {
      for (const options of [{ continue: true }, { forkSession: true }]) {
        const { begin, asked, id } = await stored();
        const chosen = "forkSession" in options ? { ...options, resume: id } : options;
        const claude = begin({ options: chosen });
        await all(claude.send("How is the weather?"));
        const first = claude.sessionId;
        if ("forkSession" in options) expect(first).not.toBe(id);
        else expect(first).toBe(id);
        await all(claude.send("And now?"));
        expect(claude.sessionId).not.toBe(first);
        expect(text(asked().at(-1)!)).not.toContain("Noted.");
        const fresh = claude.sessionId;
        await all(claude.send("Still?"));
        expect(claude.sessionId).toBe(fresh);
        await setup.model!.close();
      }
    },
    PATIENCE,
  );

  it(
    "has the caller's `sessionId`, which a fresh session does not reuse",
    async () => {
      const sessionId = randomUUID();
      const { claude, send } = await session(talk, { options: { sessionId } });
      await send("How is the weather?");
      expect(claude.sessionId).toBe(sessionId);
      await send("And now?");
      expect(claude.sessionId).not.toBe(sessionId);
    },
    PATIENCE,
  );

  it(
    "keeps what the user said through two fresh sessions, word for word",
    async () => {
      const levels = [45_000, 20_000, 45_000, 20_000];
      const { claude, send, asked, events } = await session(() => ({
        text: "Noted.",
        promptTokens: levels.shift()!,
      }));
      for (const prompt of ["Deploy to staging only.", "Use tabs.", "Run the tests."]) await send(prompt);
      claude.guard.declare("owner", "Ada");
      await send("Go.");
      expect(events.filter(({ type }) => type === "restarted")).toHaveLength(2);
      const last = text(asked().at(-1)!);
      for (const said of ["Deploy to staging only.", "Use tabs.", "Run the tests.", "owner: Ada"])
        expect(last).toContain(`- ${said}`);
      expect(last.match(/continues from an earlier session/g)).toHaveLength(1);
    },
    PATIENCE,
  );
});

/** The SDK reads sessions of the home of its own process, and the test has another one. */
function withHome(): typeof getSessionMessages {
  return async (id, options) => {
    const { HOME } = process.env;
    process.env.HOME = setup.home;
    try {
      return await getSessionMessages(id, options);
    } finally {
      process.env.HOME = HOME;
    }
  };
}
