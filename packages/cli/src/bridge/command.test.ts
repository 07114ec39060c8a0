import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { PolicySettings } from "@plimsoll/protocol/policy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answerWith, POLICY_KEY, PolicyServer } from "../../../guard/src/testing/policy-server.ts";
import { until } from "../../../guard/src/testing/until.ts";
import type { CommandContext } from "../command-context.ts";
import type { CliError } from "../errors.ts";
import { createProgram } from "../program.ts";
import { asksForRules } from "../reinject/followed-policy.ts";
import type { Terminal } from "../terminal.ts";
import { compactedTranscript } from "../testing/compacted-transcript.ts";
import { noteHook } from "./hook.ts";

let server: PolicyServer;
let home = "";
const bridges: { stop: AbortController; done: Promise<unknown> }[] = [];
beforeEach(async () => {
  server = await new PolicyServer().start();
  server.harness = new RegExp(`@${hostname()}$`);
  home = await mkdtemp(join(tmpdir(), "bridge-home-"));
  await mkdir(join(home, ".claude"));
});
afterEach(async () => {
  for (const { stop, done } of bridges.splice(0)) {
    stop.abort();
    await done;
  }
  await server.close();
  await rm(home, { recursive: true, force: true });
  expect(server.violations).toEqual([]);
});

const settings = () => join(home, ".claude", "settings.json");
const read = async () => JSON.parse(await readFile(settings(), "utf8")) as Record<string, unknown>;
const ceiling = (value: number | string, more: PolicySettings = {}): PolicySettings => ({
  ...more,
  thresholds: { ceiling: value },
});

function terminal(): Terminal & { text: string } {
  return {
    text: "",
    width: 160,
    isTty: false,
    color: false,
    write(text) {
      this.text += text;
    },
  };
}

function start(args: readonly string[], env: Record<string, string> = {}) {
  const [out, err] = [terminal(), terminal()];
  const stop = new AbortController();
  const context: CommandContext = {
    env: {
      HOME: home,
      PLIMSOLL_HOME: join(home, "plimsoll"),
      PLIMSOLL_URL: server.url,
      PLIMSOLL_KEY: POLICY_KEY,
      ...env,
    },
    out,
    err,
    now: Date.now,
    untilStopped: () => stop.signal,
  };
  const done = createProgram(context).parseAsync(["node", "plimsoll", "bridge", ...args]);
  return { out, err, stop, done };
}

async function run(args: readonly string[], env?: Record<string, string>) {
  const { out, err, done } = start(args, env);
  await done;
  return out.text + err.text;
}

function follow(args: readonly string[], env?: Record<string, string>) {
  const started = start(args, env);
  bridges.push(started);
  return started;
}

const failure = (args: readonly string[]): Promise<CliError> =>
  run(args).then(
    () => expect.fail("it succeeded"),
    (error: CliError) => error,
  );

const statuses = () => server.acks.map(({ generation, status }) => `${generation} ${status}`);
const last = () => server.acks.at(-1);

const CLAUDE = ["claude-code", "--window", "200000", "--no-hook"];

describe("plimsoll bridge --once", () => {
  it("writes the line and acknowledges only that it was written", async () => {
    server.save(ceiling(120_000));
    expect(await run([...CLAUDE, "--once"])).toContain("Policy 1: written, wrote autoCompactWindow");
    expect(await read()).toEqual({ autoCompactWindow: 153_000 });
    expect(last()).toMatchObject({ harness: `claude-code@${hostname()}`, generation: 1, status: "written" });
  });

  it("keeps for the hook whether rules come back after a compaction, until an undo", async () => {
    const asks = () => asksForRules(join(home, "plimsoll"), "claude-code");
    for (const reinject of [true, false, true]) {
      server.save({ compaction: { reinject } });
      await run([...CLAUDE, "--once"]);
      expect(await asks()).toBe(reinject);
      expect(last()).toMatchObject({ status: "applied" });
    }
    await server.close();
    await run([...CLAUDE, "--once"]).catch(() => {});
    expect(await asks()).toBe(true);
    await run(["claude-code", "--undo"]);
    expect(await asks()).toBe(false);
  });

  it("changes nothing without a policy", async () => {
    expect(await run([...CLAUDE, "--once"])).toContain("no policy");
    expect(await readdir(join(home, ".claude"))).toEqual([]);
    expect(server.acks).toEqual([]);
  });

  it("says what overrides the line, with the name of the variable", async () => {
    server.save(ceiling(120_000));
    await run([...CLAUDE, "--once"], { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "180000" });
    expect(last()).toMatchObject({
      status: "overridden",
      code: "local_override",
      effective: { thresholds: { ceiling: 147_000 } },
      differences: [
        {
          path: "thresholds.ceiling",
          code: "local_override",
          wanted: 120_000,
          effective: 147_000,
          by: "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
        },
      ],
    });
  });

  it.each([
    ["are not JSON", '{"model": ', "is not valid JSON"],
    ["are huge", `{"a":"${"x".repeat(5_000_000)}"}`, "bytes"],
  ])("rejects the policy and keeps settings that %s", async (_, text, said) => {
    await writeFile(settings(), text);
    server.save(ceiling(120_000));
    await run([...CLAUDE, "--once"]);
    process.exitCode = undefined;
    expect(last()).toMatchObject({ status: "rejected", code: "apply_failed" });
    expect(last()!.message).toContain(said);
    expect(await readFile(settings(), "utf8")).toBe(text);
  });

  it("rejects the policy and keeps settings that are read-only", async () => {
    await writeFile(settings(), "{}\n");
    await chmod(settings(), 0o444);
    server.save(ceiling(120_000));
    await run([...CLAUDE, "--once"]);
    process.exitCode = undefined;
    expect(last()).toMatchObject({ status: "rejected", code: "apply_failed" });
    expect(await readFile(settings(), "utf8")).toBe("{}\n");
  });

  it("fails and changes nothing while the server is away", async () => {
    await server.close();
    expect((await failure([...CLAUDE, "--once"])).message).toContain("ECONNREFUSED");
    expect(await readdir(join(home, ".claude"))).toEqual([]);
  });

  it.each([
    ["an empty body", ""],
    ["null", "null"],
    ["no settings", '{"generation":2,"hash":"x"}'],
    ["another hash", `{"generation":2,"hash":"${"0".repeat(64)}","settings":{}}`],
    ["a torn body", '{"generation":2,"ha'],
  ])("keeps the settings when the answer is %s", async (_, body) => {
    server.save(ceiling(120_000));
    await run([...CLAUDE, "--once"]);
    server.fault = answerWith(200, body);
    await failure([...CLAUDE, "--once"]);
    expect(await read()).toEqual({ autoCompactWindow: 153_000 });
  });

  it("tells Copilot's user that nothing can be set, and what to do", async () => {
    server.save(ceiling(120_000));
    const text = await run(["copilot", "--once"]);
    process.exitCode = undefined;
    expect(text).toContain("rejected");
    expect(text).toContain("/compact");
    expect(last()).toMatchObject({ status: "rejected", code: "unsupported" });
  });
});

describe("plimsoll bridge --dry-run and --undo", () => {
  it("shows the change and writes nothing, here or on the server", async () => {
    await writeFile(settings(), '{\n  "model": "opus"\n}\n');
    server.save(ceiling("20%"));
    const text = await run([...CLAUDE, "--dry-run"]);
    expect(text).toContain('-  "model": "opus"\n+  "model": "opus",\n+  "autoCompactWindow": 100000');
    expect(text).toContain("thresholds.ceiling asks for 20%, Claude Code will have 67,000 (clamped)");
    expect(await read()).toEqual({ model: "opus" });
    expect(server.acks).toEqual([]);
  });

  it("puts back the same text, with the hook removed", async () => {
    const mine = '{\n  // mine\n  "autoCompactWindow": 180000,\n  "model": "opus"\n}\n';
    await writeFile(settings(), mine);
    server.save(ceiling(120_000));
    await run(["claude-code", "--window", "200000", "--hook", "--once"]);
    expect(await readFile(settings(), "utf8")).toContain("SessionStart");
    const text = await run(["claude-code", "--undo"]);
    expect(text).toContain("Removed the SessionStart hook.");
    expect(text).toContain("Put back autoCompactWindow: 180000.");
    expect(await readFile(settings(), "utf8")).toBe(mine);
    expect(await run(["claude-code", "--undo"])).toContain("changed nothing");
  });

  it("names a key that somebody edited since", async () => {
    server.save(ceiling(120_000));
    await run([...CLAUDE, "--once"]);
    await writeFile(settings(), '{"autoCompactWindow": 170000}');
    expect(await run(["claude-code", "--undo"])).toContain(
      "Kept autoCompactWindow: somebody changed it from 153000 to 170000 since.",
    );
    expect(await read()).toEqual({ autoCompactWindow: 170_000 });
  });
});

describe("plimsoll bridge without a harness", () => {
  it("lists what is on this machine with both lines", async () => {
    await mkdir(join(home, ".codex"));
    await writeFile(
      join(home, ".codex", "config.toml"),
      'model = "gpt-5.1"\nmodel_context_window = 400000\n',
    );
    await mkdir(join(home, ".copilot"));
    server.save(ceiling("50%"));
    const text = await run([]);
    expect(text).toMatch(/codex +next session +\S+config\.toml +360,000 tokens +200,000 tokens/);
    expect(text).toMatch(/copilot +none +- +unknown +unchanged/);
    expect(text).toMatch(/claude-code +next session/);
    expect(text).not.toContain("gemini");
    expect(await readFile(join(home, ".codex", "config.toml"), "utf8")).not.toContain("auto_compact");
  });

  it("lists it also while the server is away", async () => {
    await server.close();
    expect(await run([])).toContain("Cannot reach Plimsoll");
  });

  it("shows a file of managed settings, for Claude Code only", async () => {
    server.save(ceiling(120_000));
    const text = await run(["claude-code", "--managed", "--dry-run", "--window", "200000"]);
    expect(text).toMatch(/managed-settings\.d\S+50-plimsoll\.json/);
    expect(text).toContain('+  "autoCompactWindow": 153000');
    const { message, hint } = await failure(["codex", "--managed", "--dry-run"]);
    expect(message).toBe("The bridge writes no managed settings of Codex CLI.");
    expect(hint).toContain("claude-code");
    await expect(run(["--managed"])).rejects.toThrow("Name the harness.");
  });

  it("names the harnesses that it knows", async () => {
    expect((await failure(["vim"])).hint).toContain("claude-code, codex");
  });
});

describe("plimsoll bridge", () => {
  it("writes each new policy, also one that goes back to an older content", async () => {
    server.save(ceiling(120_000));
    follow(CLAUDE);
    await until(() => statuses().includes("1 written"));
    server.save(ceiling(100_000));
    await until(() => statuses().includes("2 written"));
    expect(await read()).toEqual({ autoCompactWindow: 133_000 });
    server.save(ceiling(120_000));
    await until(() => statuses().includes("3 written"));
    expect(await read()).toEqual({ autoCompactWindow: 153_000 });
    expect(new Set(server.acks.map(({ id }) => id)).size).toBe(3);
  });

  it("acknowledges that the policy is applied once a compaction near the line shows it", async () => {
    server.save(ceiling(120_000));
    follow(["claude-code", "--window", "200000", "--hook"]);
    await until(() => statuses().includes("1 written"));
    expect(last()).not.toHaveProperty("effective");
    const [folder] = await readdir(join(home, "plimsoll", "bridge"));
    await noteHook(join(home, "plimsoll", "bridge", folder!), '{"source":"startup"}', Date.now() + 60_000);
    // A session that began says what it should run with, and proves nothing.
    await until(() => last()?.effective !== undefined);
    expect(last()).toMatchObject({
      status: "written",
      effective: { thresholds: { ceiling: 120_000 } },
    });
    await mkdir(join(home, ".claude/projects/p"), { recursive: true });
    await writeFile(
      join(home, ".claude/projects/p/s.jsonl"),
      compactedTranscript(119_000, Date.now() + 5_000),
    );
    await until(() => statuses().includes("1 applied"));
    expect(last()).not.toHaveProperty("effective");
    // What was shown stays shown.
    await rm(join(home, ".claude/projects"), { recursive: true });
    server.save(ceiling(120_000, { bridge: { drift: "put_back" } }));
    await until(() => statuses().includes("2 applied"));
    expect(statuses()).toEqual(["1 written", "1 written", "1 applied", "2 applied"]);
  });

  it("says that a clamped line is overridden, with both numbers, when a session began", async () => {
    server.save(ceiling("20%"));
    follow(["claude-code", "--window", "200000", "--hook"]);
    await until(() => statuses().includes("1 written"));
    const [folder] = await readdir(join(home, "plimsoll", "bridge"));
    await noteHook(join(home, "plimsoll", "bridge", folder!), "{}", Date.now() + 60_000);
    await until(() => statuses().includes("1 overridden"));
    expect(last()).toMatchObject({
      code: "clamped",
      effective: { thresholds: { ceiling: 67_000 } },
      differences: [{ wanted: "20%", effective: 67_000 }],
    });
  });

  it("reports an edit of its key and leaves it alone", async () => {
    server.save(ceiling(120_000));
    follow(CLAUDE);
    await until(() => statuses().includes("1 written"));
    await writeFile(settings(), '{"autoCompactWindow": 190000}');
    await until(() => last()?.code === "drifted");
    // One edit is one acknowledgement, although the file is empty for a moment.
    expect(statuses()).toEqual(["1 written", "1 overridden"]);
    expect(last()).toMatchObject({
      status: "overridden",
      effective: { thresholds: { ceiling: 157_000 } },
      differences: [
        { path: "thresholds.ceiling", code: "drifted", wanted: 120_000, effective: 157_000 },
        { path: "autoCompactWindow", code: "drifted", wanted: 153_000, effective: 190_000 },
      ],
    });
    expect(await read()).toEqual({ autoCompactWindow: 190_000 });
  });

  it("puts its key back when the policy says so", async () => {
    server.save(ceiling(120_000, { bridge: { drift: "put_back" } }));
    follow(CLAUDE);
    await until(() => statuses().includes("1 written"));
    await writeFile(settings(), '{"autoCompactWindow": 190000, "theme": "dark"}');
    await until(async () => (await readFile(settings(), "utf8")).includes("153000"));
    expect(await read()).toEqual({ autoCompactWindow: 153_000, theme: "dark" });
  });

  it("continues after the server was away, and sends what it could not", async () => {
    server.save(ceiling(120_000));
    server.fault = answerWith(503, '{"error":{"code":"unavailable","message":"Not now."}}');
    const { err } = follow(CLAUDE);
    await until(() => err.text.includes("HTTP 503. Not now."));
    server.fault = undefined;
    await until(() => statuses().includes("1 written"));
  });

  it("keeps settings that become broken, and continues when they are mended", async () => {
    server.save(ceiling(120_000));
    follow(CLAUDE);
    await until(() => statuses().includes("1 written"));
    await writeFile(settings(), '{"autoCompactWindow": ');
    await until(() => last()?.status === "rejected");
    expect(await readFile(settings(), "utf8")).toBe('{"autoCompactWindow": ');
    await writeFile(settings(), '{"autoCompactWindow": 153000}');
    await until(() => last()?.status === "written");
  });

  it("is alone with its settings file, also through a link", async () => {
    server.save(ceiling(120_000));
    follow(CLAUDE);
    await until(() => statuses().includes("1 written"));
    await symlink(settings(), join(home, "link.json"));
    for (const args of [
      CLAUDE,
      ["claude-code", "--undo"],
      [...CLAUDE, "--settings", join(home, "link.json")],
    ])
      expect((await failure([...args])).message).toBe("Another bridge holds this settings file.");
  });

  it("takes over from a bridge that was killed", async () => {
    server.save(ceiling(120_000));
    const env: NodeJS.ProcessEnv = {
      NODE_ENV: "test",
      PATH: process.env.PATH,
      HOME: home,
      PLIMSOLL_HOME: join(home, "plimsoll"),
      PLIMSOLL_URL: server.url,
      PLIMSOLL_KEY: POLICY_KEY,
    };
    const root = join(import.meta.dirname, "../../../..");
    const program = join(root, "packages/cli/bin/plimsoll.js");
    const child = spawn(process.execPath, [program, "bridge", ...CLAUDE], {
      env,
      cwd: root,
    });
    await until(() => statuses().includes("1 written"));
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await run(["claude-code", "--undo"])).toContain("Removed autoCompactWindow.");
  });
});
