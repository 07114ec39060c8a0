import { execFile } from "node:child_process";
import { chmod, lstat, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { at } from "@plimsoll/harnesses/fields";
import { describe, expect, it } from "vitest";
import { parseSettings } from "../bridge/edit/edit.ts";
import { CLAUDE_SETTINGS, connectStage } from "../testing/connect-run.ts";

const _run = promisify(execFile);
const ENDPOINT = ["env", "OTEL_EXPORTER_OTLP_ENDPOINT"];

describe("plimsoll connect claude-code, against a real server", () => {
  const stage = connectStage();

  it("creates a file that only its owner can read, with a key that works and is not shown", async () => {
    const text = await stage.connect();
    const key = await stage.keyIn();
    expect(await stage.accepts(key)).toBe(true);
    expect(text).toContain("x-api-key=plim_…");
    expect(text).not.toContain(key);
    expect((await stat(stage.person.path(CLAUDE_SETTINGS))).mode & 0o777).toBe(0o600);
    expect(at(await stage.settings(), ENDPOINT)).toBe(`${stage.server.url}/otlp`);
  });

  it("changes nothing the second time", async () => {
    await stage.connect();
    const before = await stage.person.read(CLAUDE_SETTINGS);
    expect(await stage.connect()).toContain("Nothing to change.");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(before);
    expect(await stage.backups()).toEqual([]);
  });

  it("removes the file that it created, and revokes the key", async () => {
    await stage.connect();
    const key = await stage.keyIn();
    const text = await stage.person.run(["disconnect", "claude-code"]);
    expect(text).toContain("Revoked the key");
    await expect(stat(stage.person.path(CLAUDE_SETTINGS))).rejects.toThrow("ENOENT");
    expect(await stage.accepts(key)).toBe(false);
  });

  it.each([
    ["empty", ""],
    [
      "with comments and trailing commas",
      '{\n  // mine\n  "model": "opus", /* best */\n  "env": {\n    "A": "1",\n  },\n}\n',
    ],
    ["with Windows line ends", '{\r\n\t"env": {\r\n\t\t"A": "1"\r\n\t}\r\n}\r\n'],
    ["with a byte order mark", '\uFEFF{\n  "model": "opus"\n}\n'],
    ["on one line", '{"env":{"A":"1"},"model":"opus"}'],
  ])("keeps a file %s, and restores it to the byte", async (_, before) => {
    await stage.person.write(CLAUDE_SETTINGS, before);
    await stage.connect();
    const edited = await stage.person.read(CLAUDE_SETTINGS);
    expect(parseSettings("json", edited)).toMatchObject(parseSettings("json", before));
    if (before.includes("// mine")) expect(edited).toMatch(/\/\/ mine[\s\S]*\/\* best \*\//);
    if (before.includes("\r\n")) expect(edited).not.toMatch(/[^\r]\n/);
    expect(edited.startsWith("\uFEFF")).toBe(before.startsWith("\uFEFF"));
    expect(await stage.backups()).toHaveLength(1);
    await stage.person.run(["disconnect", "claude-code"]);
    const after = await stage.person.read(CLAUDE_SETTINGS);
    if (before.trim() === "") expect(parseSettings("json", after)).toEqual({});
    else expect(after).toBe(before);
    expect(await stage.backups()).toHaveLength(before === after ? 0 : 1);
  });

  it.each([
    ["{ broken", "is not valid JSON"],
    ["[1]", "does not hold an object"],
  ])("leaves a file with %j alone", async (text, message) => {
    await stage.person.write(CLAUDE_SETTINGS, text);
    await expect(stage.connect()).rejects.toThrow(message);
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(text);
  });

  it("leaves a read-only file alone, and no key behind", async () => {
    const path = await stage.person.write(CLAUDE_SETTINGS, "{}\n");
    await chmod(path, 0o444);
    const keys = await stage.person.run(["key", "list"]);
    await expect(stage.connect()).rejects.toThrow("is read-only");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe("{}\n");
    expect(await stage.backups()).toEqual([]);
    expect(await stage.person.run(["key", "list"])).toBe(keys);
  });

  it("says that hooks are switched off", async () => {
    await stage.person.write(CLAUDE_SETTINGS, '{ "disableAllHooks": true }\n');
    expect(await stage.connect()).toContain("Note: disableAllHooks is set");
  });

  it("writes through a symbolic link", async () => {
    const target = await stage.person.write("dotfiles/claude.json", "{}\n");
    await stage.person.write(".claude/x", "");
    await symlink(target, stage.person.path(CLAUDE_SETTINGS));
    await stage.connect();
    expect((await lstat(stage.person.path(CLAUDE_SETTINGS))).isSymbolicLink()).toBe(true);
    expect(await readFile(target, "utf8")).toContain("plim_");
  });

  it("refuses if the file changed between the diff and the yes", async () => {
    const path = await stage.person.write(CLAUDE_SETTINGS, '{ "model": "opus" }\n');
    const answer = stage.person.run(["connect", "claude-code", "--no-wait"], {
      ask: async (question) => {
        if (question.includes("status line")) return "n";
        await writeFile(path, '{ "model": "sonnet" }\n');
        return "y";
      },
    });
    await expect(answer).rejects.toThrow("was changed after the diff was shown");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe('{ "model": "sonnet" }\n');
    expect(await stage.backups()).toEqual([]);
  });

  it("writes nothing after a no, and without a terminal", async () => {
    await stage.person.write(CLAUDE_SETTINGS, "{}\n");
    await stage.person.run(["connect", "claude-code"], { ask: async () => "" });
    await expect(stage.person.run(["connect", "claude-code"])).rejects.toMatchObject({
      message: expect.stringContaining("standard input is no terminal"),
      hint: expect.stringContaining("--yes"),
    });
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe("{}\n");
  });

  it("shows another exporter as a conflict without its secrets, and replaces it only when told", async () => {
    const before = JSON.stringify(
      {
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:pass@collector.example",
          OTEL_EXPORTER_OTLP_HEADERS: "dd-api-key=SECRET1",
          OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "https://logs.example",
          OTEL_METRICS_EXPORTER: "otlp",
          OTEL_RESOURCE_ATTRIBUTES: "team=a",
          ANTHROPIC_AUTH_TOKEN: "SECRET2",
        },
      },
      null,
      2,
    );
    await stage.person.write(CLAUDE_SETTINGS, before);
    const text = await stage.connect();
    expect(process.exitCode).toBe(1);
    expect(text).toContain('env.OTEL_EXPORTER_OTLP_ENDPOINT is already set to "https://collector.example".');
    for (const name of ["HEADERS", "LOGS_ENDPOINT"])
      expect(text).toContain(`env.OTEL_EXPORTER_OTLP_${name} is`);
    expect(text).toContain("env.OTEL_METRICS_EXPORTER is");
    expect(text).toContain("--replace");
    expect(text).not.toMatch(/SECRET|me:pass/);
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(before);

    const replaced = await stage.connect("--replace");
    expect(replaced).not.toMatch(/SECRET|me:pass/);
    expect(await stage.settings()).toMatchObject({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${stage.server.url}/otlp`,
        OTEL_METRICS_EXPORTER: "none",
        OTEL_RESOURCE_ATTRIBUTES: `team=a,host.name=${hostname()}`,
      },
    });
    expect(at(await stage.settings(), ["env", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])).toBeUndefined();
    await stage.person.run(["disconnect", "claude-code"]);
    expect(await stage.settings()).toEqual(JSON.parse(before));
  });

  it("keeps a metrics exporter that goes elsewhere", async () => {
    await stage.person.write(CLAUDE_SETTINGS, '{ "env": { "OTEL_METRICS_EXPORTER": "prometheus" } }\n');
    await stage.connect();
    expect(at(await stage.settings(), ["env", "OTEL_METRICS_EXPORTER"])).toBe("prometheus");
  });

  it("names settings for another Plimsoll that it did not write", async () => {
    await stage.person.write(
      CLAUDE_SETTINGS,
      '{ "env": { "OTEL_EXPORTER_OTLP_ENDPOINT": "https://plimsoll.example/otlp", "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=plim_other" } }\n',
    );
    expect(await stage.connect()).toContain(", for another Plimsoll server or key.");
    expect(await stage.keyIn()).toBe("plim_other");
  });

  it("adopts settings that somebody pasted for this server", async () => {
    const printed = await stage.person.run(["connect", "claude-code", "--print"]);
    const [, json] = /^# .*\n([\s\S]*)$/.exec(printed)!;
    await stage.person.write(CLAUDE_SETTINGS, json!);
    expect(await stage.connect()).not.toContain("Created the key");
    expect(await stage.accepts(await stage.keyIn())).toBe(true);
  });

  it("makes a new key after the old one was revoked", async () => {
    await stage.connect();
    const old = await stage.keyIn();
    await stage.person.run(["key", "revoke", old.slice(0, 12)]);
    expect(await stage.person.run(["connections"])).toContain("is revoked; run connect again");
    const text = await stage.connect();
    expect(text).toContain("The server rejects the key in the settings");
    expect(await stage.keyIn()).not.toBe(old);
    expect(await stage.accepts(await stage.keyIn())).toBe(true);
  });

  it("restores only its own keys after somebody edited the file", async () => {
    await stage.person.write(CLAUDE_SETTINGS, '{\n  "model": "opus"\n}\n');
    await stage.connect();
    const text = (await stage.person.read(CLAUDE_SETTINGS))
      .replace('"model": "opus"', '"model": "sonnet", // changed')
      .replace("http/protobuf", "http/json");
    await stage.person.write(CLAUDE_SETTINGS, text);
    expect(await stage.person.run(["connections"])).toContain("env.OTEL_EXPORTER_OTLP_PROTOCOL in");
    const said = await stage.person.run(["disconnect", "claude-code"]);
    expect(said).toContain("Kept env.OTEL_EXPORTER_OTLP_PROTOCOL");
    expect(said).toContain("Kept the copy");
    expect(await stage.settings()).toEqual({
      model: "sonnet",
      env: { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
    });
    expect(await stage.person.read(CLAUDE_SETTINGS)).toContain("// changed");
    expect(await stage.backups()).toHaveLength(1);
  });

  it("never writes over a copy", async () => {
    await stage.person.write(CLAUDE_SETTINGS, '{ "a": 1 }\n');
    await stage.connect();
    const [first] = await stage.backups();
    await stage.person.write(CLAUDE_SETTINGS, '{ "a": 2 }\n');
    await stage.person.run(["disconnect", "claude-code"]);
    await stage.connect();
    expect(await stage.backups()).toHaveLength(2);
    expect(await stage.person.read(`.claude/${first}`)).toBe('{ "a": 1 }\n');
  });

  it("connects two folders apart, in files that are not shared, and disconnects one", async () => {
    const [one, two] = [await stage.person.write("one/x", ""), await stage.person.write("two/x", "")].map(
      (path) => join(path, ".."),
    );
    const here = process.cwd();
    const file = ".claude/settings.local.json";
    try {
      for (const folder of [one!, two!]) {
        process.chdir(folder);
        await stage.connect("--project");
      }
      expect(await stage.keyIn(`one/${file}`)).not.toBe(await stage.keyIn(`two/${file}`));
      expect(await stage.person.run(["connections", "--json"])).toMatch(
        /"scope": "project"[\s\S]*"scope": "project"/,
      );
      const listed = await stage.person.run(["connections"]);
      for (const folder of [one!, two!]) expect(listed).toContain(`project ${folder}`);
      await expect(stage.person.run(["disconnect", "claude-code", "--user"])).rejects.toThrow(
        "no such connection",
      );
      const key = await stage.keyIn(`one/${file}`);
      process.chdir(two!);
      expect(await stage.person.run(["disconnect", "claude-code", "--project"])).not.toContain(one!);
      await expect(stage.person.run(["disconnect", "claude-code"])).rejects.toThrow("of this folder");
      expect(await stage.keyIn(`two/${file}`).catch(() => "")).toBe("");
      expect(await stage.keyIn(`one/${file}`)).toBe(key);
      expect(await stage.accepts(await stage.keyIn(`one/${file}`))).toBe(true);
    } finally {
      process.chdir(here);
    }
  });

  it("moves to another Plimsoll project with a key of that project", async () => {
    await stage.connect();
    const old = await stage.keyIn();
    await stage.person.run(["project", "create", `other-${process.pid}`]);
    await stage.connect("--to", `other-${process.pid}`);
    expect(await stage.keyIn()).not.toBe(old);
    expect(await stage.accepts(await stage.keyIn())).toBe(true);
    expect(await stage.accepts(old)).toBe(false);
  });

  it("says that the server does not answer, and writes nothing", async () => {
    await stage.person.write(CLAUDE_SETTINGS, "{}\n");
    const away = { env: { PLIMSOLL_URL: "http://127.0.0.1:2" } };
    const tried = stage.person.run(["connect", "claude-code", "--yes"], away);
    await expect(tried).rejects.toThrow("Cannot reach Plimsoll at http://127.0.0.1:2");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe("{}\n");
  });

  it("disconnects while the server is away, and says that the key still works", async () => {
    await stage.connect();
    const key = await stage.keyIn();
    const records = join(stage.server.home, "connect");
    for (const name of await readdir(records)) {
      const path = join(records, name, "connection.json");
      const text = await readFile(path, "utf8").catch(() => undefined);
      if (text?.includes(stage.person.home))
        await writeFile(path, text.replace(stage.server.url, "http://127.0.0.1:2"));
    }
    expect(await stage.person.run(["disconnect", "claude-code"])).toContain(
      "could not be revoked at http://127.0.0.1:2",
    );
    await expect(stat(stage.person.path(CLAUDE_SETTINGS))).rejects.toThrow("ENOENT");
    expect(await stage.accepts(key)).toBe(true);
  });

  it("waits until the first event arrives", async () => {
    const stop = new AbortController();
    const send = async () => {
      const now = String(BigInt(Date.now()) * 1_000_000n);
      const string = (key: string, stringValue: string) => ({ key, value: { stringValue } });
      await fetch(`${stage.server.url}/otlp/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": await stage.keyIn() },
        body: JSON.stringify({
          resourceLogs: [
            {
              resource: {
                attributes: [string("service.name", "claude-code"), string("host.name", hostname())],
              },
              scopeLogs: [
                {
                  logRecords: [
                    {
                      timeUnixNano: now,
                      eventName: "claude_code.api_request",
                      attributes: [
                        string("session.id", "s"),
                        string("request_id", now),
                        string("model", "claude-opus-5"),
                        string("input_tokens", "9000"),
                        string("output_tokens", "10"),
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        }),
      });
    };
    let isSent = false;
    const text = await stage.person.run(["connect", "claude-code", "--yes", "--wait"], {
      stop: stop.signal,
      onText: (said) => {
        if (isSent || !said.includes("Waiting for the first event")) return;
        isSent = true;
        void send();
      },
    });
    expect(text).toContain(`Events of Claude Code arrive, as claude-code@${hostname()}.`);
    expect(await stage.person.run(["connections"])).toMatch(/claude-code +user +\S+ +just now/);
  });
});
