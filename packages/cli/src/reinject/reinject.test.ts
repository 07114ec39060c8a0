import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { estimateTokens } from "@plimsoll/guard/measure";
import { parseEvent } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compactedSession } from "../hook/hook-events.ts";
import { keepNote } from "../mcp/note-file.ts";
import { ClaudeAgent } from "../testing/claude-agent.ts";
import { followedPolicy } from "./followed-policy.ts";
import { reinject } from "./reinject.ts";
import { MOST_REINJECTED, reinjectedText } from "./reinjected-text.ts";

const AT = Date.UTC(2026, 10, 28, 12);
const NOTE = "Next: the mast.";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-reinject-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function followed(settings: unknown) {
  const { folder, name } = followedPolicy(home, "claude-code");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), typeof settings === "string" ? settings : JSON.stringify(settings));
}
const ON = { compaction: { reinject: true } };

/** Runs the hook, and returns what it added to the context and its event. */
async function compacted(agent: ClaudeAgent, family = "claude-code") {
  let context = "";
  const input = { session_id: agent.session, transcript_path: agent.path, cwd: "/work" };
  const event = await reinject(
    { family, session: agent.session, input },
    { PLIMSOLL_HOME: home },
    AT,
    (text) => {
      context += JSON.parse(text).hookSpecificOutput.additionalContext;
    },
  );
  return { context, event };
}

describe("the hook after a compaction", () => {
  it("is for the main agent alone", () => {
    const input = { hook_event_name: "SessionStart", source: "compact", session_id: "s" };
    expect(compactedSession(input)).toBe("s");
    for (const other of [
      { source: "resume" },
      { agent_id: "a" },
      { hook_event_name: "Stop" },
      { session_id: 5 },
    ])
      expect(compactedSession({ ...input, ...other })).toBeUndefined();
    for (const other of [null, [], "x", 5]) expect(compactedSession(other)).toBeUndefined();
  });

  it("prints the note as the agent's own, once", async () => {
    const agent = new ClaudeAgent(home).prompt("Never push to main.");
    await keepNote(home, { session: agent.session, note: NOTE, at: AT - 180_000 });
    const { context, event } = await compacted(agent);
    expect(context).toBe(
      `[Your own checkpoint, which you saved 3 min before the context was compacted:]\n${NOTE}`,
    );
    expect(event).toMatchObject({ type: "reinjected", session: agent.session, checkpoint: true });
    expect(event).not.toHaveProperty("rules");
    expect(await compacted(agent)).toEqual({ context: "", event: undefined });
  });

  it("puts rules back if the last policy asks for it, and says how many, without a word of them", async () => {
    await followed(ON);
    const agent = new ClaudeAgent(home)
      .prompt("Never push to main. Add a button.")
      .memory("/work/a/CLAUDE.md", "Use tabs.");
    await keepNote(home, { session: agent.session, note: NOTE, at: AT });
    const { context, event } = await compacted(agent);
    expect(context.split("\n").slice(1)).toEqual([
      "Said by the user in this session, the latest first:",
      "- Never push to main.",
      "From /work/a/CLAUDE.md:",
      "- Use tabs.",
      "",
      expect.stringContaining("Your own checkpoint"),
      NOTE,
    ]);
    expect(event).toMatchObject({ checkpoint: true, rules: 1, lines: 1, left_out: 0 });
    expect(parseEvent({ ...event, harness: "h" })).toMatchObject({ ok: true });
    expect(JSON.stringify(event)).not.toMatch(/push|tabs|mast|\/work/);
  });

  it("puts them back once for each compaction, of several hooks, and again after the next one", async () => {
    await followed(ON);
    const agent = new ClaudeAgent(home).prompt("Never push to main.");
    const both = await Promise.all([compacted(agent), compacted(agent), compacted(agent)]);
    expect(both.filter(({ event }) => event !== undefined)).toHaveLength(1);
    agent.compaction("All was done.").prompt("Go on with it.");
    expect(await compacted(agent)).toMatchObject({
      context: expect.stringContaining("- Never push to main."),
      event: { lines: 1 },
    });
  });

  it("says that there was nothing to put back", async () => {
    await followed(ON);
    expect(await compacted(new ClaudeAgent(home).prompt("Add a button."))).toMatchObject({
      context: "",
      event: { tokens: 0, checkpoint: false, rules: 0, lines: 0 },
    });
  });

  it.each([
    ["no policy", undefined],
    ["a policy without it", {}],
    ["a policy that switches it off", { compaction: { reinject: false } }],
    ["a damaged policy", '{"compaction": {"rei'],
    ["nonsense", "null"],
  ])("leaves rules alone with %s", async (_, settings) => {
    if (settings !== undefined) await followed(settings);
    expect(await compacted(new ClaudeAgent(home).prompt("Never push to main."))).toEqual({
      context: "",
      event: undefined,
    });
  });

  it("puts rules back where nothing can be written, and without the rest of a line that is being written", async () => {
    await followed(ON);
    const agent = new ClaudeAgent(home).prompt("Never push to main.");
    await appendFile(agent.path, '{"type":"user","message":{"role":"user","content":"Never take this');
    await writeFile(join(home, "checkpoints"), "");
    const { context, event } = await compacted(agent);
    expect(context).toContain("- Never push to main.");
    expect(context).not.toContain("take this");
    expect(event).toMatchObject({ lines: 1, checkpoint: false });
  });

  it("keeps two sessions apart that compact at once", async () => {
    await followed(ON);
    const agents = ["a", "b"].map((name) =>
      new ClaudeAgent(home, { session: `session-${name}` }).prompt(`Never push to ${name}.`),
    );
    for (const { session } of agents) await keepNote(home, { session, note: `Next: ${session}`, at: AT });
    const both = await Promise.all(agents.map((agent) => compacted(agent)));
    for (const [at, { context }] of both.entries()) {
      expect(context).toContain(`Next: ${agents[at]!.session}`);
      expect(context).not.toContain(agents[1 - at]!.session);
    }
  });

  it("gives the note back without a recording, and to another family", async () => {
    await followed(ON);
    const agent = new ClaudeAgent(home);
    await keepNote(home, { session: agent.session, note: NOTE, at: AT });
    expect((await compacted(agent)).context).toContain(NOTE);
    agent.prompt("Never push to main.");
    await keepNote(home, { session: agent.session, note: NOTE, at: AT });
    const { context, event } = await compacted(agent, "codex");
    expect(context).toContain(NOTE);
    expect(context).not.toContain("push");
    expect(event).not.toHaveProperty("rules");
  });
});

describe("what is put back", () => {
  const rules = (count: number, words = "Never push it to main, whatever happens there") =>
    Array.from({ length: count }, (_, number) => `${words} ${number}.`);

  it("is cut by whole rules, the most important first", () => {
    const standing = {
      lines: rules(100),
      files: [{ path: "/a/CLAUDE.md", rules: rules(100, "Be kind to all") }],
    };
    const { text, counts } = reinjectedText(undefined, standing, AT);
    expect(counts.lines).toBe(100);
    expect(counts.rules).toBeGreaterThan(0);
    expect(counts.rules! + counts.left_out!).toBe(100);
    const kept = text.split("\n").filter((line) => line.startsWith("- "));
    expect(kept).toEqual(
      [...standing.lines, ...standing.files[0]!.rules.slice(0, counts.rules)].map((rule) => `- ${rule}`),
    );
  });

  it("is never more than 2,000 tokens, and never cuts the note", () => {
    fc.assert(
      fc.property(
        fc.option(fc.string({ maxLength: 4_000, unit: "grapheme" }), { nil: undefined }),
        fc.array(fc.string({ minLength: 1, maxLength: 600, unit: "grapheme" }), { maxLength: 60 }),
        fc.array(fc.string({ minLength: 1, maxLength: 600 }), { maxLength: 60 }),
        (given, lines, own) => {
          const note = given === undefined ? undefined : { session: "s", at: AT, tokens: 0, note: given };
          const { text, counts } = reinjectedText(note, { lines, files: [{ path: "/a", rules: own }] }, AT);
          if (given) expect(text.endsWith(given)).toBe(true);
          expect(counts.rules! + counts.lines! + counts.left_out!).toBe(lines.length + own.length);
          if (counts.rules! + counts.lines! > 0) {
            expect(text.length).toBeLessThanOrEqual(MOST_REINJECTED.characters);
            expect(estimateTokens(text)).toBeLessThanOrEqual(MOST_REINJECTED.tokens);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
