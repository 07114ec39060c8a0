import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLAUDE_SETTINGS, connectStage } from "../testing/connect-run.ts";

const GEMINI = ".gemini/settings.json";

describe("plimsoll disconnect, without a record", () => {
  const stage = connectStage();
  const disconnect = (...args: string[]) => stage.person.run(["disconnect", ...args]);
  const forget = () => rm(join(stage.server.home, "connect"), { recursive: true });

  it.each([
    ["claude-code", CLAUDE_SETTINGS, '{\n  "model": "opus"\n}\n'],
    ["codex", ".codex/config.toml", 'model = "a" # mine\nlarge = 9007199254740993\n'],
    ["gemini-cli", GEMINI, '{\n  "general": { "vimMode": true }\n}\n'],
    ["qwen-code", ".qwen/settings.json", '{\n  "env": { "MINE": "1" }\n}\n'],
    ["copilot", ".bashrc", "alias ll='ls -l'\n"],
  ])("takes %s out of %s and leaves the rest", async (family, file, before) => {
    await stage.person.write(file, before);
    await stage.person.run(["connect", family, "--yes", "--no-wait"]);
    expect(await stage.person.read(file)).not.toBe(before);
    await forget();
    expect(await disconnect(family)).toContain("no record of it is left");
    const left = await stage.person.read(file);
    expect(left).not.toMatch(/plim_|otlp|127\.0\.0\.1|--connection|plimsoll/);
    expect(left.replace(/,?\s*"telemetry": \{\s*"logPrompts": false\s*\}/, "").replace(/\s/g, "")).toContain(
      before.replace(/\s|\}\s*$/g, "").replace(/\}$/, ""),
    );
    await expect(disconnect(family)).rejects.toThrow("There is no such connection");
  });

  it("revokes a key that the server still knows", async () => {
    await stage.connect();
    const key = await stage.keyIn();
    await forget();
    expect(await disconnect("claude-code")).toContain("Revoked the key");
    expect(await stage.accepts(key)).toBe(false);
  });

  it("undoes byte for byte where only the list of connections is gone", async () => {
    const before = '{"model":"opus"}';
    await stage.person.write(CLAUDE_SETTINGS, before);
    await stage.connect();
    await forgetRecords();
    await disconnect("claude-code");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(before);
  });

  async function forgetRecords() {
    const parent = join(stage.server.home, "connect");
    for (const name of await readdir(parent))
      await rm(join(parent, name, "connection.json"), { force: true });
  }

  it.each(["", " --cache"])(
    "recognises what another home wrote, and puts a wrapped status line back: %j",
    async (flags) => {
      const line = { type: "command", command: "echo 'my $line'", padding: 0 };
      await stage.person.write(CLAUDE_SETTINGS, JSON.stringify({ statusLine: line, hooks: { Stop: [] } }));
      await stage.connect("--statusline");
      const written = await stage.person.read(CLAUDE_SETTINGS);
      await stage.person.write(CLAUDE_SETTINGS, written.replace(" statusline", ` statusline${flags}`));
      const moved = `${stage.server.home}-moved`;
      await rename(join(stage.server.home, "connect"), moved);
      await mkdir(join(stage.server.home, "connect"));
      await disconnect("claude-code");
      await rm(moved, { recursive: true });
      expect(await stage.settings()).toEqual({
        statusLine: line,
        hooks: { Stop: [] },
        env: { OTEL_METRICS_EXPORTER: "none" },
      });
    },
  );

  it.each([
    '{ "env": { "OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example/v1" } }',
    '{ "hooks": { "PostCompact": [{ "hooks": [{ "type": "command", "command": "plimsoll hook kimi" }] }] } }',
    '{ "statusLine": { "type": "command", "command": "npx plimsoll statusline" } }',
    '{ "telemetry": { "enabled": true, "target": "local", "otlpProtocol": "http" } }',
  ])("finds nothing in %s", async (text) => {
    await stage.person.write(CLAUDE_SETTINGS, text);
    await stage.person.write(GEMINI, text);
    await expect(disconnect("claude-code", "gemini-cli")).rejects.toThrow("There is no such connection");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(text);
    expect(await stage.person.read(GEMINI)).toBe(text);
  });
});
