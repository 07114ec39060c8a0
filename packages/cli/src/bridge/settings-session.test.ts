import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SettingsChange } from "@plimsoll/harnesses/bridge";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { childProgram } from "../../../guard/src/testing/child-process.ts";
import { editSettings, parseSettings } from "./edit/edit.ts";
import { readSettingsFile, replaceSettingsFile } from "./settings-file.ts";
import { editFor, readSettings, undo, writeEdit } from "./settings-session.ts";

const claude = ADAPTERS[0]!;
let folder = "";
let path = "";
let home = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridge-settings-"));
  home = join(folder, "plimsoll");
  path = join(folder, "settings.json");
});
afterEach(async () => {
  await chmod(folder, 0o700).catch(() => {});
  await rm(folder, { recursive: true, force: true });
});

const MINE = '{\n  // mine\n  "model": "opus",\n  "autoCompactWindow": 180000\n}\n';
const window = (value: number): SettingsChange[] => [{ path: ["autoCompactWindow"], value }];

async function apply(changes: readonly SettingsChange[], putBack = false): Promise<readonly string[]> {
  const reading = await readSettings(claude, path, home);
  const edit = editFor(claude, reading, changes, putBack);
  await writeEdit(claude, reading, edit, Date.now());
  return edit.edits.map(({ path: key }) => key.join("."));
}
const takeBack = async () => undo(claude, await readSettings(claude, path, home));
const text = () => readFile(path, "utf8");
const stateOf = async () => join(home, "bridge", (await readdir(join(home, "bridge")))[0]!);

describe.each(["json", "toml", "yaml", "env", "shell"] as const)("a %s file", (format) => {
  const owner = { family: "x", format };
  const named = format === "env" || format === "shell" ? ["K"] : ["group", "K"];
  const set = async (value: unknown, names = named) => {
    const reading = await readSettings(owner, path, home, "connect");
    await writeEdit(owner, reading, editFor(owner, reading, [{ path: names, value }], true), 0);
  };
  const undone = async () => undo(owner, await readSettings(owner, path, home, "connect"));
  const value = format === "shell" ? "K() { x; }" : "plim";

  const line = {
    json: fc.constantFrom(
      '"a": 1',
      '"b": { "c": [1, 2] }',
      '"hooks": { "Stop": [{ "hooks": [] }] }',
      '"é": "x"',
    ),
    toml: fc.constantFrom(
      "a = 1",
      "'b' = { c = [ 1,2 ] } # c",
      "[[h.S]]\nm = 1\n[[h.S.hooks]]\nd = 1",
      "[t]",
    ),
    yaml: fc.constantFrom("a: 1 # one", "b: {c: [1,  2]}", "'d':   'x'", "e:\n        f: 1", "# c"),
    env: fc.constantFrom("A=1", "export B='x y'", "# c", "", 'C = "x" # y'),
    shell: fc.constantFrom("a() { b; }", "# c", "export A=1", ""),
  }[format];
  const layout = fc.record({
    lines: fc.uniqueArray(line, { maxLength: 4 }),
    eol: fc.constantFrom("\n", "\r\n"),
    space: fc.constantFrom("", "\t", "   "),
    end: fc.constantFrom("", "\n", "\n\n", "  \n"),
    mark: fc.constantFrom("", "\uFEFF"),
    isInline: fc.boolean(),
  });
  const textOf = ({
    lines,
    eol,
    space,
    end,
    mark,
    isInline,
  }: typeof layout extends fc.Arbitrary<infer Shape> ? Shape : never) => {
    if (lines.length === 0) return mark + end;
    const gap = isInline ? " " : eol + space;
    const body =
      format === "json" ? `{${gap}${lines.join(`,${gap}`)}${isInline ? "" : eol}}` : lines.join("\n");
    return mark + body.replace(/\r?\n/g, eol) + end;
  };

  it("is byte for byte as before after an undo, if nobody edited it since", async () => {
    await fc.assert(
      fc.asyncProperty(layout, fc.boolean(), async (shape, isTwice) => {
        const before = textOf(shape);
        await rm(home, { recursive: true, force: true });
        await writeFile(path, before);
        await set(value);
        if (isTwice) await set(`${value} 2`);
        expect(await text()).not.toBe(before);
        await undone();
        expect(await text()).toBe(before);
      }),
      { numRuns: 40 },
    );
  });

  it("keeps what somebody adds before or after it was changed", async () => {
    const mine = format === "shell" ? "M() { y; }" : "mine";
    const add = async (names: string[]) =>
      writeFile(path, editSettings(format, await text(), [{ path: names, value: mine }]));
    const expected = (name: string) => ({ [name]: mine });
    await fc.assert(
      fc.asyncProperty(layout, fc.boolean(), async (shape, isBetween) => {
        const before = textOf(shape);
        await rm(home, { recursive: true, force: true });
        await writeFile(path, before);
        await set(value);
        await add(["M"]);
        if (isBetween) await set(`${value} 2`);
        await undone();
        expect(parseSettings(format, await text())).toEqual({
          ...parseSettings(format, before),
          ...expected("M"),
        });
      }),
      { numRuns: 40 },
    );
  });
});

describe("the settings of a harness", () => {
  it("are refused if they are no UTF-8, which a write would change", async () => {
    const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xe9, 0x22, 0x7d]);
    await writeFile(path, bytes);
    await expect(apply(window(133_000))).rejects.toMatchObject({ reason: "unreadable" });
    expect(await readFile(path)).toEqual(bytes);
  });

  it("are refused if a group is no group, with what to change by hand", async () => {
    await writeFile(path, '{ "modelSettings": [1] }');
    const changes = [{ path: ["modelSettings", "opus", "autoCompactWindow"], value: 133_000 }];
    await expect(apply(changes)).rejects.toMatchObject({
      reason: "not_editable",
      message: expect.stringMatching(/by hand:\n\+ modelSettings\.opus\.autoCompactWindow = 133000$/),
    });
    expect(await text()).toBe('{ "modelSettings": [1] }');
  });

  it("get one key changed, and undo brings back the same text", async () => {
    await writeFile(path, MINE);
    await apply(window(133_000));
    expect(await text()).toBe(MINE.replace("180000", "133000"));
    expect(await apply(window(133_000))).toEqual([]);
    await apply(window(120_000));
    expect(await takeBack()).toMatchObject({ removed: false, kept: [] });
    expect(await text()).toBe(MINE);
    expect(await takeBack()).toBeUndefined();
  });

  it("are backed up before the first change, readable by their owner only", async () => {
    await writeFile(path, MINE);
    await apply(window(133_000));
    await apply(window(120_000));
    const names = (await readdir(await stateOf())).filter((name) => name.startsWith("backup-"));
    expect(names).toHaveLength(1);
    const backup = join(await stateOf(), names[0]!);
    expect(await readFile(backup, "utf8")).toBe(MINE);
    expect((await stat(backup)).mode & 0o077).toBe(0);
  });

  it("are created when there are none, and removed by undo", async () => {
    path = join(folder, "new", "settings.json");
    await apply([{ path: ["modelSettings", "claude-opus-5", "autoCompactWindow"], value: 133_000 }]);
    expect(parseSettings("json", await text())).toEqual({
      modelSettings: { "claude-opus-5": { autoCompactWindow: 133_000 } },
    });
    expect(await takeBack()).toMatchObject({ removed: true });
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  it("keep later edits of other keys when the bridge undoes its own", async () => {
    await writeFile(path, "{}\n");
    await apply([{ path: ["modelSettings", "opus", "autoCompactWindow"], value: 133_000 }]);
    const edited = parseSettings("json", await text());
    await writeFile(path, JSON.stringify({ ...edited, theme: "dark" }, null, 2));
    await takeBack();
    expect(parseSettings("json", await text())).toEqual({ theme: "dark" });
  });

  it("keep a key that somebody edited since, and undo names it", async () => {
    await writeFile(path, MINE);
    await apply(window(133_000));
    await writeFile(path, (await text()).replace("133000", "150000"));
    expect(await takeBack()).toMatchObject({
      restored: [],
      kept: [{ path: ["autoCompactWindow"], written: 133_000, found: 150_000 }],
    });
    expect(await text()).toBe(MINE.replace("180000", "150000"));
  });

  it("keep what somebody edited until it is put back", async () => {
    await writeFile(path, MINE);
    await apply(window(133_000));
    await writeFile(path, (await text()).replace("133000", "150000"));
    expect(await apply(window(120_000))).toEqual([]);
    expect(await apply(window(120_000), true)).toEqual(["autoCompactWindow"]);
    await takeBack();
    expect(await text()).toBe(MINE);
  });

  it("get the person's value back when the policy no longer sets a key", async () => {
    await writeFile(path, MINE);
    await apply(window(133_000));
    await apply([]);
    expect(await text()).toBe(MINE);
  });

  it("stay a symbolic link, with their mode", async () => {
    await mkdir(join(folder, "dotfiles"));
    const real = join(folder, "dotfiles", "claude.json");
    await writeFile(real, MINE, { mode: 0o640 });
    await chmod(real, 0o640);
    await symlink(real, path);
    await apply(window(133_000));
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(await readlink(path)).toBe(real);
    expect((await stat(real)).mode & 0o777).toBe(0o640);
    expect(await readFile(real, "utf8")).toContain("133000");
  });

  it("are not written when they are read-only", async () => {
    await writeFile(path, MINE, { mode: 0o444 });
    await expect(apply(window(133_000))).rejects.toMatchObject({ reason: "not_writable" });
    expect(await text()).toBe(MINE);
    expect(await takeBack()).toBeUndefined();
  });

  it("are not written when they are not JSON", async () => {
    await writeFile(path, '{"autoCompactWindow": ');
    await expect(apply(window(133_000))).rejects.toThrow("at character");
    expect(await text()).toBe('{"autoCompactWindow": ');
  });

  it("are not read when they are huge", async () => {
    await writeFile(path, `{"a": "${"x".repeat(5_000_000)}"}`);
    await expect(apply(window(133_000))).rejects.toMatchObject({ reason: "too_large" });
  });

  it("are not overwritten when somebody edits them between the read and the write", async () => {
    await writeFile(path, MINE);
    const before = await readSettingsFile(path);
    await writeFile(path, '{"mine": true}');
    await expect(replaceSettingsFile(before, "{}")).rejects.toMatchObject({ reason: "changed_meanwhile" });
    expect(await text()).toBe('{"mine": true}');
    expect((await readdir(folder)).filter((name) => name.endsWith(".plimsoll"))).toEqual([]);
  });

  it("can be undone after a kill between the record and the write", async () => {
    await writeFile(path, MINE);
    await apply(window(133_000));
    const journal = join(await stateOf(), "journal.json");
    const record = JSON.parse(await readFile(journal, "utf8"));
    // As a kill leaves it: the record is of a write that did not happen.
    record.pending = true;
    record.entries[0].previous = 133_000;
    record.entries[0].after = 120_000;
    await writeFile(journal, JSON.stringify(record));
    expect((await readSettings(claude, path, home)).drifted).toEqual([]);
    await takeBack();
    expect(await text()).toBe(MINE);
  });

  it("are whole after a kill -9 at any time", async () => {
    await writeFile(path, MINE);
    const source = `
      import { ADAPTERS } from ${JSON.stringify(join(import.meta.dirname, "../../../harnesses/src/bridge.ts"))};
      import { editFor, readSettings, writeEdit } from ${JSON.stringify(join(import.meta.dirname, "settings-session.ts"))};
      const [claude] = ADAPTERS;
      for (let value = 100000; ; value += 1) {
        const reading = await readSettings(claude, ${JSON.stringify(path)}, ${JSON.stringify(home)});
        await writeEdit(claude, reading, editFor(claude, reading, [{ path: ["autoCompactWindow"], value }], false), Date.now());
        process.stdout.write(".");
      }`;
    const program = await childProgram(folder, source);
    for (let round = 0; round < 5; round += 1) {
      const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
      let writes = 0;
      for await (const chunk of child.stdout) {
        writes += String(chunk).length;
        if (writes > round * 7) break;
      }
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      expect(writes).toBeGreaterThan(round * 7);
      expect(parseSettings("json", await text())).toMatchObject({ model: "opus" });
      expect((await readSettings(claude, path, home)).drifted).toEqual([]);
    }
    await takeBack();
    expect(await text()).toBe(MINE);
  });
});
