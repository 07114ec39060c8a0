import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at } from "@plimsoll/harnesses/fields";
import { describe, expect, it } from "vitest";
import { editSettings, parseSettings } from "../bridge/edit/edit.ts";
import { CLAUDE_SETTINGS, connectStage } from "../testing/connect-run.ts";
import type { KnownConnection } from "./disconnect-harness.ts";
import { hookSettings, passingProgram } from "./hook-settings.ts";
import { allRecords, writeRecord } from "./record.ts";

const CODEX = { family: "codex", hooks: ["PostCompact"] };
const program = ["node", "/bin/plimsoll.js"];
const settingsFor = (settings: Record<string, unknown>) =>
  hookSettings(CODEX, program, "/home/me/p/connect/codex-1", settings);
const COMMAND = "node /bin/plimsoll.js hook codex --connection /home/me/p/connect/codex-1 2>/dev/null || :";
const ours = { hooks: [{ type: "command", command: COMMAND }] };
const own = { type: "command", command: "mine" };
const theirs = { matcher: "auto", hooks: [{ type: "command", command: "say done" }] };

describe("the hooks of a connection", () => {
  it.each([
    ["nothing", {}, [ours]],
    ["hooks of somebody", { PostCompact: [theirs] }, [theirs, ours]],
    ["themselves", { PostCompact: [ours, theirs] }, [ours, theirs]],
    [
      "those of another version of the program",
      { PostCompact: [{ hooks: [{ type: "command", command: COMMAND.replace("/bin", "/old") }] }, theirs] },
      [theirs, ours],
    ],
    [
      "those of another version, to which somebody added a hook",
      { PostCompact: [{ hooks: [{ type: "command", command: COMMAND.replace("/bin", "/old") }, own] }] },
      [{ hooks: [own] }, ours],
    ],
  ])("are added to %s", (_, hooks, value) => {
    expect(settingsFor({ hooks })).toEqual([{ path: ["hooks", "PostCompact"], value, mode: "wrap" }]);
  });

  it("are known again whatever the folders are called", () => {
    const folder = "/home/ann's pc/$p/connect/codex-1";
    const odd = ['/opt/my "node"/node', "/a b/it's/plimsoll.js"];
    const first = hookSettings(CODEX, odd, folder, {});
    const settings = { hooks: { PostCompact: first[0]!.value } };
    expect(hookSettings(CODEX, odd, folder, settings)).toEqual(first);
    const replaced = hookSettings(CODEX, program, folder, settings)[0]!.value as [typeof ours];
    expect(replaced).toHaveLength(1);
    expect(replaced[0].hooks[0]!.command).toContain("/bin/plimsoll.js");
  });

  it("start a program in any folder, and get their arguments", async () => {
    const folder = await mkdtemp(join(tmpdir(), "a 'quoted' \"folder\" $HOME "));
    const script = join(folder, "plim soll.js");
    await writeFile(script, "process.stdout.write(JSON.stringify(process.argv.slice(2)))");
    const value = hookSettings(CODEX, [process.execPath, script], folder, {})[0]!.value as [typeof ours];
    const { stdout } = spawnSync("sh", ["-c", value[0].hooks[0]!.command]);
    expect(JSON.parse(String(stdout))).toEqual(["hook", "codex", "--connection", folder]);
    await rm(folder, { recursive: true });
  });

  it("warn that npm may delete the cache of npx", () => {
    expect(passingProgram(["node", "/home/ann/.npm/_npx/1a2b/node_modules/p/bin/plimsoll.js"])).toContain(
      "Run npm install --global plimsoll",
    );
    expect(passingProgram(["node", "/usr/lib/node_modules/p/bin/plimsoll.js"])).toBeUndefined();
  });

  it("end silently when the program or its runtime is gone", () => {
    for (const gone of [
      ["/gone/node", "/bin/plimsoll.js"],
      [process.execPath, "/gone/plimsoll.js"],
    ]) {
      const value = hookSettings(CODEX, gone, "/f", {})[0]!.value as [typeof ours];
      const { status, stdout, stderr } = spawnSync("sh", ["-c", value[0].hooks[0]!.command], { input: "{}" });
      expect([status, String(stdout), String(stderr)]).toEqual([0, "", ""]);
    }
  });

  it.each([
    [{ hooks: [] }],
    [{ hooks: "x" }],
    [{ hooks: { PostCompact: "x" } }],
    [{ hooks: { PostCompact: { a: 1 } } }],
  ])("leave %j alone", (settings) => {
    expect(settingsFor(settings)).toEqual([]);
  });

  it("keep a person's text of TOML", () => {
    const text = '# mine\nmodel = "a" # best\n\n[[hooks.PreToolUse]]\nmatcher = "Bash" # here\n';
    const [{ path, value }] = settingsFor(parseSettings("toml", text)) as [ReturnType<typeof settingsFor>[0]];
    const edited = editSettings("toml", text, [{ path, value }]);
    expect(at(parseSettings("toml", edited), path)).toEqual([ours]);
    expect(edited).toContain('model = "a" # best');
    expect(edited).toContain('matcher = "Bash" # here');
  });
});

describe("plimsoll connect, with hooks", () => {
  const stage = connectStage();
  const events = async () => Object.keys(((await stage.settings()).hooks ?? {}) as object);
  const groups = async (event: string) => at(await stage.settings(), ["hooks", event]) as object[];

  it("shows and writes them, changes nothing the second time, and removes them", async () => {
    const before = '{\n  "model": "opus"\n}\n';
    await stage.person.write(CLAUDE_SETTINGS, before);
    expect(await stage.connect()).toContain("hook claude-code --connection");
    expect(await events()).toEqual(["PostCompact", "SessionEnd", "SessionStart"]);
    expect(await stage.connect()).toContain("Nothing to change.");
    await stage.person.run(["disconnect", "claude-code"]);
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(before);
  });

  it("says when the program that they start is gone", async () => {
    await stage.connect();
    const [{ folder, record }] = (await allRecords(stage.server.home)) as [KnownConnection];
    expect(await stage.person.run(["connections"])).not.toContain("which is gone");
    await writeRecord(folder, { ...record, program: ["/gone/plimsoll.js"] });
    expect(await stage.person.run(["connections"])).toContain("start /gone/plimsoll.js, which is gone");
  });

  it("leaves them out if asked to, also later", async () => {
    await stage.connect("--no-hooks");
    expect(await events()).toEqual([]);
    await stage.connect();
    expect(await events()).toHaveLength(3);
    await stage.connect("--no-hooks");
    expect(await events()).toEqual([]);
  });

  it("keeps the hooks of a person, whenever they were added", async () => {
    const early = { hooks: [{ type: "command", command: "early" }] };
    const late = { hooks: [{ type: "command", command: "late" }] };
    await stage.person.write(CLAUDE_SETTINGS, JSON.stringify({ hooks: { PostCompact: [early] } }));
    await stage.connect();
    const settings = await stage.settings();
    const hooks = { ...(settings.hooks as object), PostCompact: [...(await groups("PostCompact")), late] };
    await stage.person.write(CLAUDE_SETTINGS, JSON.stringify({ ...settings, hooks }));
    expect(await stage.connect()).toContain("Nothing to change.");
    expect(await stage.person.run(["connections"])).not.toContain("was changed");
    await stage.person.run(["disconnect", "claude-code"]);
    expect(await stage.settings()).toEqual({ hooks: { PostCompact: [early, late] } });
  });

  it.each([false, true])(
    "leaves a hook that a person added to a list of its own (without a record: %s)",
    async (isForgotten) => {
      await stage.connect();
      const settings = await stage.settings();
      const [group] = (await groups("PostCompact")) as [{ hooks: object[] }];
      const added = { ...group, hooks: [own, ...group.hooks] };
      const hooks = { ...(settings.hooks as object), PostCompact: [added] };
      await stage.person.write(CLAUDE_SETTINGS, JSON.stringify({ ...settings, hooks }));
      if (isForgotten) await rm(join(stage.server.home, "connect"), { recursive: true });
      await stage.person.run(["disconnect", "claude-code"]);
      expect((await stage.settings()).hooks).toEqual({ PostCompact: [{ ...group, hooks: [own] }] });
    },
  );

  it("does not fall over hooks of another shape", async () => {
    const before = '{ "hooks": { "PostCompact": "mine", "SessionEnd": [null, 4 /* mine */] } }\n';
    await stage.person.write(CLAUDE_SETTINGS, before);
    await stage.connect();
    expect(await groups("PostCompact")).toBe("mine");
    expect(await groups("SessionEnd")).toHaveLength(3);
    await stage.person.run(["disconnect", "claude-code"]);
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(before);
  });
});
