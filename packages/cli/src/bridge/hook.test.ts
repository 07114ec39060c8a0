import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseSettings } from "./edit/edit.ts";
import { hasHook, lastNote, noteHook, withHook, withoutHook } from "./hook.ts";

const PROGRAM = ["/usr/bin/node", "/opt/my tools/plimsoll.js"];
const FOLDER = "/var/lib/plimsoll/bridge/claude-code-abc";

describe("the hook", () => {
  it.each([
    "{}",
    '{\n  "model": "opus" // mine\n}\n',
    '{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}}',
  ])("is added and removed without a trace (%j)", (text) => {
    const added = withHook(text, PROGRAM, FOLDER);
    expect(hasHook(added, FOLDER)).toBe(true);
    expect(hasHook(added, "/elsewhere")).toBe(false);
    expect(withHook(added, PROGRAM, FOLDER)).toBe(added);
    expect(parseSettings("json", withoutHook(added, FOLDER))).toEqual(parseSettings("json", text));
    expect(withoutHook(added, FOLDER)).toBe(text);
  });

  it("quotes its paths", () => {
    const { hooks } = parseSettings("json", withHook("{}", PROGRAM, FOLDER)) as {
      hooks: { SessionStart: [{ hooks: [{ command: string }] }] };
    };
    expect(hooks.SessionStart[0].hooks[0].command).toBe(
      `"/usr/bin/node" "/opt/my tools/plimsoll.js" "bridge" "hook" "${FOLDER}" 2>/dev/null || :`,
    );
  });
});

describe("a note of the hook", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "bridge-hook-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("says when, and nothing of the session", async () => {
    await noteHook(join(folder, "new"), '{"source":"startup","session_id":"s","cwd":"/secret"}', 1_000);
    await noteHook(join(folder, "new"), "no JSON", 2_000);
    expect(await lastNote(join(folder, "new"))).toBe(2_000);
    expect(await readFile(join(folder, "new", "hook.jsonl"), "utf8")).toBe(
      '{"at":1000,"source":"startup"}\n{"at":2000}\n',
    );
  });

  it("throws nothing when it cannot be written", async () => {
    await writeFile(join(folder, "file"), "");
    await noteHook(join(folder, "file"), "{}", 1_000);
    expect(await lastNote(join(folder, "file"))).toBeUndefined();
  });
});
