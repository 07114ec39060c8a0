import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ModelRequest,
  type ScriptedCall,
  startScriptedModel,
} from "../../../guard/src/testing/scripted-model/index.ts";
import {
  claudeEnv,
  codexModel,
  geminiEnv,
  harnessProgram,
  opencodeModel,
  runHarness,
  shellCall,
} from "../testing/real-harness.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(PACKAGE, "bin/plimsoll.js");
/** Claude Code's own program, which its SDK brings. */
const CLAUDE = join(
  dirname(dirname(createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk"))),
  `claude-agent-sdk-${process.platform}-${process.arch}`,
  "claude",
);
const PATIENCE = 120_000;
const SERVER = { command: process.execPath, args: [PROGRAM, "mcp"] };

interface Trial {
  /** Undefined if it is not there. */
  program: string | undefined;
  words: readonly string[];
  files(url: string): Record<string, string>;
  env(url: string): Record<string, string>;
  /** A call of a tool of the server. */
  call(name: string, given: object): ScriptedCall;
  /** How often it asks until it has an answer. */
  asks: number;
}

const ofPrefix = (prefix: string) => (name: string, given: object) => ({
  name: prefix + name,
  arguments: { ...given },
});

const TRIALS: Record<string, Trial> = {
  "Claude Code": {
    program: CLAUDE,
    words: ["-p", "--dangerously-skip-permissions", "--mcp-config=mcp.json", "Have-it-done"],
    files: () => ({
      "project/mcp.json": JSON.stringify({ mcpServers: { plimsoll: { ...SERVER, alwaysLoad: true } } }),
    }),
    env: (url) => claudeEnv(url),
    call: ofPrefix("mcp__plimsoll__"),
    asks: 1,
  },
  Codex: {
    program: harnessProgram("codex"),
    words: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Have-it-done"],
    files: (url) => {
      const [[path, text]] = Object.entries(codexModel(url)) as [[string, string]];
      const { command, args } = SERVER;
      // Codex passes few of its variables to a server.
      return {
        [path]: `${text}[mcp_servers.plimsoll]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nenv = { PLIMSOLL_HOME = ${JSON.stringify(join(home, "p"))} }\n`,
      };
    },
    env: () => ({}),
    call: (name, given) => ({ name, namespace: "mcp__plimsoll", arguments: { ...given } }),
    asks: 1,
  },
  "Gemini CLI": {
    program: harnessProgram("gemini"),
    words: ["--yolo", "--model", "gemini-2.5-pro", "--prompt", "Have-it-done"],
    files: () => ({
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        mcpServers: { plimsoll: { ...SERVER, trust: true } },
      }),
    }),
    env: (url) => geminiEnv(url),
    call: ofPrefix("mcp_plimsoll_"),
    asks: 2,
  },
  opencode: {
    program: harnessProgram("opencode"),
    words: ["run", "Have-it-done"],
    files: (url) => ({
      ...opencodeModel(url),
      ".config/opencode/plugin/plimsoll.js": opencodePlugin(),
      // With a plugin, opencode waits until it has tried to install its types for plugins.
      ".npmrc": "registry=http://127.0.0.1:9\nfetch-retries=0\n",
    }),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    call: ofPrefix("plimsoll_"),
    asks: 1,
  },
};

/** As a person has it written. */
const opencodePlugin = () =>
  execFileSync(process.execPath, [PROGRAM, "mcp", "--plugin", "opencode"], { encoding: "utf8" });

let home = "";
// What a harness starts is the built program.
beforeAll(() => promisify(execFile)("npm", ["run", "--silent", "build"], { cwd: PACKAGE }), 180_000);
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-real-mcp-"));
  await mkdir(join(home, "project"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function prepare({ files }: Pick<Trial, "files">, url: string): Promise<void> {
  for (const [path, text] of Object.entries(files(url))) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
  await writeFile(
    join(home, "project/large.txt"),
    "The level of a ship is where the water meets its hull.\n".repeat(400),
  );
}

const run = (program: string, words: readonly string[], env: Record<string, string>) =>
  runHarness([program, ...words], {
    home,
    cwd: join(home, "project"),
    env: { PLIMSOLL_HOME: join(home, "p"), PLIMSOLL_URL: "http://127.0.0.1:9", ...env },
    limit: PATIENCE,
  });

/** Answers of the server in a request, which each format quotes in its own way. */
function answersIn({ messages }: ModelRequest): Record<string, unknown>[] {
  const text = JSON.stringify(messages).replaceAll(/\\+"/g, '"');
  return [...text.matchAll(/\{"(?:verdict|refused|kept)":.*?\}(?=<|\\n|"[}\],])/g)].flatMap(([found]) => {
    try {
      return [JSON.parse(found) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

describe("the tools in a real harness with a scripted model", () => {
  for (const [name, trial] of Object.entries(TRIALS)) {
    const title = `${name} has the level of its next prompt within 2 %`;
    it.skipIf(trial.program === undefined)(title, { timeout: PATIENCE }, async () => {
      const { program, words, env, call, asks } = trial;
      let last: ModelRequest | undefined;
      const model = await startScriptedModel((request) => {
        const shell = shellCall(request, "cat large.txt");
        const messages = JSON.stringify(request.messages);
        if (shell === undefined || !messages.includes("Have-it-done")) return { text: "Done." };
        // Claude Code takes no word that it does not know.
        const { is_background: _, ...given } = shell.arguments as Record<string, unknown>;
        if (!messages.includes("meets its hull")) return { calls: [{ ...shell, arguments: given }] };
        const answers = answersIn(request);
        if (answers.length < asks) return { calls: [call("headroom", { detail: true })] };
        last ??= request;
        return { text: "All done." };
      });
      try {
        await prepare(trial, model.url);
        const output = await run(program!, words, env(model.url));
        expect(last, output).toBeDefined();
        const answers = answersIn(last!);
        expect(answers.slice(0, -1).every(({ refused }) => refused === "call_again")).toBe(true);
        expect(answers.at(-1)).toMatchObject({
          falls: 0,
          server: expect.stringMatching(/not_yet|away|no_login/),
        });
        const { tokens } = answers.at(-1)!.level as { tokens: number };
        expect(Math.abs(tokens - last!.promptTokens) / last!.promptTokens).toBeLessThan(0.02);
      } finally {
        await model.close();
      }
    });
  }

  it("Claude Code gets its note back after a compaction, once, and its sub-agent its own level", {
    timeout: PATIENCE,
  }, async () => {
    const trial = TRIALS["Claude Code"]!;
    const { call } = trial;
    const sub: Record<string, unknown>[] = [];
    const model = await startScriptedModel((request) => {
      const messages = JSON.stringify(request.messages);
      const answers = answersIn(request);
      if (shellCall(request) === undefined) return { text: "<summary>All was done.</summary>" };
      if (messages.includes("Sub-help") && !messages.includes("Have-it-done")) {
        sub.push(...answers);
        return answers.length > 0
          ? { text: "Helped.", promptTokens: 31_100 }
          : { calls: [call("headroom", { detail: true })], promptTokens: 31_000 };
      }
      if (messages.includes("Again"))
        return answers.some(({ falls }) => falls === 1)
          ? { text: "Again done.", promptTokens: 20_500 }
          : { calls: [call("headroom", { detail: true })], promptTokens: 20_000 };
      if (!answers.some(({ kept }) => kept))
        return {
          calls: [call("checkpoint", { note: "Next: the keel, then the mast." })],
          promptTokens: 50_000,
        };
      if (!messages.includes("Sub-help")) {
        const given = { description: "a task", prompt: "Sub-help", subagent_type: "general-purpose" };
        return { calls: [{ name: "Agent", arguments: given }], promptTokens: 60_000 };
      }
      return { text: "All done.", promptTokens: 70_000 };
    });
    try {
      await prepare(trial, model.url);
      const command = `${process.execPath} ${PROGRAM} hook claude-code`;
      const hooks = { SessionStart: [{ matcher: "compact", hooks: [{ type: "command", command }] }] };
      await mkdir(join(home, ".claude"));
      await writeFile(join(home, ".claude/settings.json"), JSON.stringify({ hooks }));
      const env = trial.env(model.url);
      const output = await run(CLAUDE, trial.words, env);
      expect(sub, output).toMatchObject([
        { agent: expect.stringContaining("agent-"), level: { counted: 31_000 } },
      ]);
      await run(CLAUDE, ["-p", "--continue", "/compact"], env);
      // Another process, which goes on with the session.
      const words = trial.words.slice(0, -1);
      const after = await run(CLAUDE, [...words, "--continue", "Again"], env);
      expect(answersIn(model.requests.at(-1)!), after).toMatchObject([
        { verdict: "plenty", falls: 1, level: { counted: 20_000 } },
      ]);
      const [again] = model.requests.filter(({ messages }) => JSON.stringify(messages).includes("Again"));
      expect(JSON.stringify(again?.messages).match(/Next: the keel, then the mast\./g)).toHaveLength(1);
      expect(JSON.stringify(again?.messages)).toContain("Your own checkpoint");
    } finally {
      await model.close();
    }
  });

  it.skipIf(TRIALS.Codex!.program === undefined)(
    "Codex gets its note back after a compaction, once",
    { timeout: PATIENCE },
    async () => {
      const trial = TRIALS.Codex!;
      const note = "Next: the keel, then the mast.";
      const model = await startScriptedModel((request) => {
        const last = JSON.stringify(request.messages.at(-1));
        if (/CHECKPOINT COMPACTION|next LLM/.test(last))
          return { text: "All was done.", promptTokens: 91_000 };
        if (last.includes("Again")) return { text: "Again done.", promptTokens: 20_000 };
        return answersIn(request).some(({ kept }) => kept)
          ? { text: "Done.", promptTokens: 90_000 }
          : { calls: [trial.call("checkpoint", { note })], promptTokens: 50_000 };
      });
      try {
        await prepare(trial, model.url);
        const config = join(home, ".codex/config.toml");
        const limits = "model_context_window = 200000\nmodel_auto_compact_token_limit = 80000\n";
        const command = `${process.execPath} ${PROGRAM} hook codex`;
        const hook = `[[hooks.SessionStart]]\nmatcher = "compact"\n[[hooks.SessionStart.hooks]]\ntype = "command"\ncommand = ${JSON.stringify(command)}\n`;
        await writeFile(config, `${limits}${await readFile(config, "utf8")}${hook}`);
        const words = ["--dangerously-bypass-hook-trust", ...trial.words.slice(1, -1)];
        await run(trial.program!, ["exec", ...words, "Have-it-done"], {});
        const output = await run(trial.program!, ["exec", "resume", "--last", ...words, "Again"], {});
        const again = JSON.stringify(model.requests.at(-1)!.messages);
        expect(again.match(/Your own checkpoint/g), output).toHaveLength(1);
        expect(again).toContain(note);
      } finally {
        await model.close();
      }
    },
  );
});
