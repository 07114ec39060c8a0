import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { shellCommand } from "../packages/cli/src/connect/status-line-setting.ts";
import { claudeEnv } from "../packages/cli/src/testing/real-harness.ts";
import { startScriptedModel } from "../packages/guard/src/testing/scripted-model/index.ts";
import { until } from "../packages/guard/src/testing/until.ts";
import { claudeCodeConnect } from "../packages/harnesses/src/claude-code/connect.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const read = async (path: string) => JSON.parse(await readFile(join(root, path), "utf8"));

/** Claude Code's own program, which its SDK brings. */
const claude = join(
  dirname(dirname(createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk"))),
  `claude-agent-sdk-${process.platform}-${process.arch}`,
  "claude",
);

const PROGRAM = join(root, "packages/cli/bin/plimsoll.js");

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-plugin-"));
  await run("npm", ["run", "--silent", "build"], { cwd: join(root, "packages/cli") });
  // Stands for npx, which would download the package: it keeps the arguments and the input of a hook.
  await mkdir(join(home, "bin"));
  const text = `#!/bin/sh\n[ "$3" = mcp ] && exec '${process.execPath}' '${PROGRAM}' mcp\n{ echo "$@"; cat; echo; } >> '${join(home, "ran")}'\n`;
  await writeFile(join(home, "bin/npx"), text);
  await chmod(join(home, "bin/npx"), 0o755);
});
afterAll(() => rm(home, { recursive: true, force: true }));

const runClaude = (args: string[], env: Record<string, string> = {}) =>
  run(claude, args, {
    cwd: home,
    env: {
      NODE_ENV: "test",
      PATH: [join(home, "bin"), process.env.PATH].join(delimiter),
      HOME: home,
      IS_SANDBOX: "1",
      DISABLE_TELEMETRY: "1",
      ...env,
    },
  });

it("the plugin has the hooks that connect writes, and the version of the release", async () => {
  const { hooks } = await read("deploy/claude-code/hooks/hooks.json");
  expect(Object.keys(hooks)).toEqual(claudeCodeConnect.hooks);
  const command = shellCommand(["npx", "--yes", "plimsoll", "hook", "claude-code"]);
  for (const [event, groups] of Object.entries(hooks)) {
    const matcher = claudeCodeConnect.matchers?.[event];
    expect(groups).toEqual([{ ...(matcher && { matcher }), hooks: [{ type: "command", command }] }]);
  }
  const { version } = await read("package.json");
  expect(await read("deploy/claude-code/.claude-plugin/plugin.json")).toMatchObject({
    name: "plimsoll",
    version,
  });
});

it("claude plugin validate accepts the marketplace and the plugin", async () => {
  for (const path of [root, join(root, "deploy/claude-code")]) {
    const { stdout } = await runClaude(["plugin", "validate", path]);
    expect(stdout).toContain("Validation passed");
  }
});

it("an installed plugin runs its hook at the end of a session, and its server answers", async () => {
  await runClaude(["plugin", "marketplace", "add", root]);
  await runClaude(["plugin", "install", "plimsoll@plimsoll"]);
  const model = await startScriptedModel(() => ({ text: "Hello" }));
  try {
    const { stdout } = await runClaude(["mcp", "list"], claudeEnv(model.url));
    expect(stdout).toMatch(/plimsoll.*Connected/);
    await runClaude(["-p", "Hi"], claudeEnv(model.url));
    const ran = () => readFile(join(home, "ran"), "utf8").catch(() => "");
    await until(async () => (await ran()).includes("SessionEnd"));
    expect(await ran()).toContain("--yes plimsoll hook claude-code");
  } finally {
    await model.close();
  }
});

it("the command of an installed plugin runs connect with the status line, without a question", async () => {
  let offered = "";
  // As a model that does what the command says.
  const model = await startScriptedModel(({ messages, body }) => {
    const said = JSON.stringify(messages);
    const command = /`(npx --yes plimsoll connect [^`]+)`/.exec(said)?.[1];
    if (command === undefined || body.tools === undefined || said.includes("tool_result"))
      return { text: "Done." };
    offered = command;
    return { calls: [{ name: "Bash", arguments: { command, description: "Connect" } }] };
  });
  try {
    await runClaude(["-p", "/plimsoll:statusline"], claudeEnv(model.url));
    expect(offered).toContain("--statusline");
    expect((await readFile(join(home, "ran"), "utf8")).split("\n")).toContain(offered.replace("npx ", ""));
  } finally {
    await model.close();
  }
});
