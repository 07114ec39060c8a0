import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { SampleFile } from "../../../harnesses/src/testing/recordings.ts";
import { CONVERSATIONS, LEVELS } from "../../../harnesses/src/testing/texts.ts";
import { createProgram } from "../program.ts";
import type { Terminal } from "../terminal.ts";

const NOW = Date.UTC(2026, 10, 28, 10);
const SESSION = "3f2a91c0-1111-4222-8333-444455556666";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "plimsoll-context-"));
});
afterEach(() => rmSync(home, { recursive: true }));

async function run(args: string[], env: Record<string, string> = {}): Promise<string> {
  let text = "";
  const out: Terminal = {
    ...{ width: 100, isTty: false, color: false },
    write: (more) => {
      text += more;
    },
  };
  const program = createProgram({
    env: { HOME: home, ...env },
    ...{ out, err: out, now: () => NOW, untilStopped: () => new AbortController().signal },
  });
  await program.parseAsync(["node", "plimsoll", "context", ...args]);
  return text;
}

/** A recording of Claude Code: a file is read, then documentation is searched. */
function claudeSession(id = SESSION, level = 12_000): string {
  const path = join(home, ".claude/projects/-work", `${id}.jsonl`);
  let second = 0;
  const line = (type: string, content: unknown, more: object = {}) =>
    JSON.stringify({
      ...{ type, sessionId: id, uuid: `${id}-${++second}`, isSidechain: false, cwd: "/work" },
      timestamp: new Date(NOW - 600_000 + second * 1_000).toISOString(),
      message: { role: type, content, ...more },
    });
  const answer = (message: string, input_tokens: number, content: unknown) =>
    line("assistant", content, {
      ...{ id: message, model: "claude-opus-4-6", usage: { input_tokens, output_tokens: 50 } },
    });
  const use = (call: string, name: string, input: object) => ({ type: "tool_use", id: call, name, input });
  const result = (call: string, words: number) => [
    { type: "tool_result", tool_use_id: call, content: "word ".repeat(words) },
  ];
  const lines = [
    line("user", "Find out why the load is wrong."),
    answer("m1", 6_000, [use("c1", "Read", { file_path: join(home, "src/load.ts") })]),
    line("user", result("c1", 3_000)),
    answer("m2", 9_500, [use("c2", "mcp__docs__search", { query: "load" })]),
    line("user", result("c2", 1_500)),
    answer("m3", level, [{ type: "text", text: "It divides by the window." }]),
  ];
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

it("prints what fills the window, and the largest things with their turns", async () => {
  claudeSession();
  const text = await run([]);
  expect(text).toMatch(
    /^3f2a91c0-1111-4222-8333-444455556666\nclaude-opus-4-6, turn 3, 10 min ago\n12k tokens in the window\n/,
  );
  expect(text).toMatch(/^ +[\d.]+k +[\d.]+% {2}tools$/m);
  expect(text).toMatch(/^ +[\d.]+k +[\d.]+% {4}Read \(1\)$/m);
  expect(text).toMatch(/^ +[\d.]+k +[\d.]+% {4}MCP server docs \(1\)$/m);
  expect(text).toMatch(/^ +[\d.]+k +[\d.]+% {6}search \(1\)$/m);
  expect(text).toMatch(/^ +[\d.]+k +[\d.]+% {2}not in the recording: tool definitions/m);
  expect(text).toMatch(
    /The largest\n +[\d.]+k {2}turn 2 +Read ~\/src\/load\.ts\n +[\d.]+k {2}turn 3 +mcp__docs__search\n/,
  );
});

it("prints the same of other families, with thinking and definitions where the recording has them", async () => {
  const sample = CONVERSATIONS.find(({ files }) => files(false)[0]!.path.includes("agents/main/wire"))!;
  const [{ path, lines }] = sample.files(false) as [SampleFile];
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const [agent] = JSON.parse(await run([file, "--json"]));
  const names = agent.parts.map(({ name }: { name: string }) => name);
  expect(names[0]).toBe("tools");
  expect(names).toEqual(
    expect.arrayContaining([
      "tool definitions",
      "instructions",
      "thinking since the latest prompt",
      "answers",
    ]),
  );
  expect(agent.parts.reduce((all: number, { tokens }: { tokens: number }) => all + tokens, 0)).toBe(
    LEVELS[1],
  );
  expect(await run([file])).toMatch(/^ +[\d.]+k {2}turn 2 +read \/w\/src\/load\.ts$/m);
});

it("adds up to the level", async () => {
  claudeSession();
  const [agent] = JSON.parse(await run(["--json"]));
  expect(agent).toMatchObject({ session: SESSION, agent: "main", turn: 3, context_tokens: 12_000 });
  const sum = agent.parts.reduce((all: number, { tokens }: { tokens: number }) => all + tokens, 0);
  expect(sum).toBe(12_000);
});

it("takes the session of the shell, and else the newest", async () => {
  const older = claudeSession();
  const newer = claudeSession("99999999-1111-4222-8333-444455556666");
  utimesSync(older, NOW / 1_000 - 60, NOW / 1_000 - 60);
  utimesSync(newer, NOW / 1_000, NOW / 1_000);
  expect(await run([])).toMatch(/^99999999/);
  expect(await run([], { CLAUDE_CODE_SESSION_ID: SESSION })).toMatch(/^3f2a91c0/);
  expect(await run(["3f2a91c0"])).toMatch(/^3f2a91c0/);
  expect(await run([older])).toMatch(/^3f2a91c0/);
});

it("says what it looked for", async () => {
  await expect(run([])).rejects.toThrow("There are no recordings on this machine.");
  await expect(run(["abc"])).rejects.toThrow('No recording has "abc" in its name.');
  claudeSession();
  claudeSession("3f2a91c0-9999-4222-8333-444455556666");
  await expect(run(["3f2a91c0"])).rejects.toThrow('Several recordings have "3f2a91c0" in their name.');
  const empty = join(home, "empty.jsonl");
  writeFileSync(empty, `${JSON.stringify({ type: "summary", summary: "x", leafUuid: "y" })}\n`);
  await expect(run([empty])).rejects.toThrow("There is no turn with its texts in");
  const other = join(home, "notes.jsonl");
  writeFileSync(other, '{"a":1}\n');
  await expect(run([other])).rejects.toThrow("does not show what fills the window.");
  const agentd = join(home, "run.jsonl");
  const event = { event: "AgentDone", run_id: "r", timestamp: new Date(NOW).toISOString() };
  writeFileSync(agentd, `${JSON.stringify({ event })}\n`);
  await expect(run([agentd])).rejects.toMatchObject({
    hint: expect.stringContaining("beginnings of prompts"),
  });
});

it("says what the latest compaction lost", async () => {
  const path = claudeSession();
  expect(await run(["--lost"])).toMatch(/\nThe recording shows no compaction with its summary\.\n$/);
  const line = (second: number, type: string, content: unknown, more: object = {}) =>
    JSON.stringify({
      ...{ type, sessionId: SESSION, uuid: `${SESSION}-x${second}`, isSidechain: false },
      timestamp: new Date(NOW - 500_000 + second * 1_000).toISOString(),
      message: { role: type, content },
      ...more,
    });
  const lines = [
    line(1, "user", "Never change the load of a session that has ended."),
    line(2, "system", undefined, {
      subtype: "compact_boundary",
      compactMetadata: { trigger: "auto", preTokens: 12_000 },
    }),
    line(3, "user", `The user asked to find out why the load is wrong. ${"It is not done. ".repeat(40)}`, {
      isCompactSummary: true,
    }),
    line(
      4,
      "assistant",
      [{ type: "tool_use", id: "c9", name: "Read", input: { file_path: join(home, "src/load.ts") } }],
      {
        message: {
          ...{
            id: "m9",
            role: "assistant",
            model: "claude-opus-4-6",
            usage: { input_tokens: 4_000, output_tokens: 9 },
          },
          content: [
            { type: "tool_use", id: "c9", name: "Read", input: { file_path: join(home, "src/load.ts") } },
          ],
        },
      },
    ),
  ];
  appendFileSync(path, `${lines.join("\n")}\n`);
  expect(await run(["--lost"])).toBe(
    [
      SESSION,
      "compacted after turn 3, 8 min ago, 12k to 4k tokens",
      "",
      "rules: 0 kept, 0 nearly kept, 1 lost",
      "  lost         turn 3     Never change the load of a session that has ended.",
      "",
      "other sentences of prompts: 1 kept, 0 nearly kept, 0 lost",
      "",
      "files: 0 kept, 0 nearly kept, 1 lost",
      "  lost         turn 2     ~/src/load.ts, again at turn 5",
      "",
    ].join("\n"),
  );
  const [agent] = JSON.parse(await run(["--lost", "--json"]));
  expect(agent.loss.things).toHaveLength(3);
});
