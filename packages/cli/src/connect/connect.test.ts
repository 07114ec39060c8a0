import { execFile } from "node:child_process";
import {
  chmod,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseSettings } from "../bridge/edit/edit.ts";
import { at } from "../bridge/fields.ts";
import { type ConnectHome, connectHome } from "../testing/connect-run.ts";
import { hasServer, type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const run = promisify(execFile);
const CLAUDE = ".claude/settings.json";
const ENDPOINT = ["env", "OTEL_EXPORTER_OTLP_ENDPOINT"];

describe.runIf(hasServer)("plimsoll connect, against a real server", () => {
  let server: Plimsoll;
  let person: ConnectHome;
  beforeAll(async () => {
    server = await startPlimsoll();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    const home = await mkdtemp(join(tmpdir(), "connect-home-"));
    person = connectHome(home, server);
  });
  afterEach(async () => {
    await person.run(["disconnect", "--all"]).catch(() => {});
    await rm(person.home, { recursive: true, force: true });
    process.exitCode = undefined;
  });

  const connect = (...args: string[]) =>
    person.run(["connect", "claude-code", "--yes", "--no-wait", ...args]);
  const settings = async (name = CLAUDE) => parseSettings("json", await person.read(name));
  const keyIn = async (name = CLAUDE) => /plim_\w+/.exec(await person.read(name))?.[0] ?? "";
  const accepts = async (key: string) => {
    const response = await fetch(`${server.url}/otlp/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: "{}",
    });
    return response.status === 200;
  };
  const backups = async (folder = ".claude") =>
    (await readdir(person.path(folder))).filter((name) => name.endsWith(".backup"));

  it("creates a file that only its owner can read, with a key that works and is not shown", async () => {
    const text = await connect();
    const key = await keyIn();
    expect(await accepts(key)).toBe(true);
    expect(text).toContain("x-api-key=plim_…");
    expect(text).not.toContain(key);
    expect((await stat(person.path(CLAUDE))).mode & 0o777).toBe(0o600);
    expect(at(await settings(), ENDPOINT)).toBe(`${server.url}/otlp`);
  });

  it("changes nothing the second time", async () => {
    await connect();
    const before = await person.read(CLAUDE);
    expect(await connect()).toContain("Nothing to change.");
    expect(await person.read(CLAUDE)).toBe(before);
    expect(await backups()).toEqual([]);
  });

  it("removes the file that it created, and revokes the key", async () => {
    await connect();
    const key = await keyIn();
    const text = await person.run(["disconnect", "claude-code"]);
    expect(text).toContain("Revoked the key");
    await expect(stat(person.path(CLAUDE))).rejects.toThrow("ENOENT");
    expect(await accepts(key)).toBe(false);
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
    await person.write(CLAUDE, before);
    await connect();
    const edited = await person.read(CLAUDE);
    expect(parseSettings("json", edited)).toMatchObject(parseSettings("json", before));
    if (before.includes("// mine")) expect(edited).toMatch(/\/\/ mine[\s\S]*\/\* best \*\//);
    if (before.includes("\r\n")) expect(edited).not.toMatch(/[^\r]\n/);
    expect(edited.startsWith("\uFEFF")).toBe(before.startsWith("\uFEFF"));
    expect(await backups()).toHaveLength(1);
    await person.run(["disconnect", "claude-code"]);
    const after = await person.read(CLAUDE);
    if (before.trim() === "") expect(parseSettings("json", after)).toEqual({});
    else expect(after).toBe(before);
    expect(await backups()).toHaveLength(before === after ? 0 : 1);
  });

  it.each([
    ["{ broken", "is not valid JSON"],
    ["[1]", "does not hold an object"],
  ])("leaves a file with %j alone", async (text, message) => {
    await person.write(CLAUDE, text);
    await expect(connect()).rejects.toThrow(message);
    expect(await person.read(CLAUDE)).toBe(text);
  });

  it("leaves a read-only file alone, and no key behind", async () => {
    const path = await person.write(CLAUDE, "{}\n");
    await chmod(path, 0o444);
    await expect(connect()).rejects.toThrow("is read-only");
    expect(await person.read(CLAUDE)).toBe("{}\n");
    const { stdout } = { stdout: await person.run(["key", "list"]) };
    expect(stdout).toMatch(new RegExp(`claude-code@${hostname()} +ingest +revoked`));
  });

  it("writes through a symbolic link", async () => {
    const target = await person.write("dotfiles/claude.json", "{}\n");
    await person.write(".claude/x", "");
    await symlink(target, person.path(CLAUDE));
    await connect();
    expect((await lstat(person.path(CLAUDE))).isSymbolicLink()).toBe(true);
    expect(await readFile(target, "utf8")).toContain("plim_");
  });

  it("refuses if the file changed between the diff and the yes", async () => {
    const path = await person.write(CLAUDE, '{ "model": "opus" }\n');
    const answer = person.run(["connect", "claude-code", "--no-wait"], {
      ask: async () => {
        await writeFile(path, '{ "model": "sonnet" }\n');
        return "y";
      },
    });
    await expect(answer).rejects.toThrow("was changed after the diff was shown");
    expect(await person.read(CLAUDE)).toBe('{ "model": "sonnet" }\n');
    expect(await backups()).toEqual([]);
  });

  it("writes nothing after a no, and without a terminal", async () => {
    await person.write(CLAUDE, "{}\n");
    await person.run(["connect", "claude-code"], { ask: async () => "" });
    await expect(person.run(["connect", "claude-code"])).rejects.toMatchObject({
      message: expect.stringContaining("standard input is no terminal"),
      hint: expect.stringContaining("--yes"),
    });
    expect(await person.read(CLAUDE)).toBe("{}\n");
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
    await person.write(CLAUDE, before);
    const text = await connect();
    expect(process.exitCode).toBe(1);
    expect(text).toContain('env.OTEL_EXPORTER_OTLP_ENDPOINT is already set to "https://collector.example".');
    for (const name of ["HEADERS", "LOGS_ENDPOINT"])
      expect(text).toContain(`env.OTEL_EXPORTER_OTLP_${name} is`);
    expect(text).toContain("env.OTEL_METRICS_EXPORTER is");
    expect(text).toContain("--replace");
    expect(text).not.toMatch(/SECRET|me:pass/);
    expect(await person.read(CLAUDE)).toBe(before);

    const replaced = await connect("--replace");
    expect(replaced).not.toMatch(/SECRET|me:pass/);
    expect(await settings()).toMatchObject({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${server.url}/otlp`,
        OTEL_METRICS_EXPORTER: "none",
        OTEL_RESOURCE_ATTRIBUTES: `team=a,host.name=${hostname()}`,
      },
    });
    expect(at(await settings(), ["env", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])).toBeUndefined();
    await person.run(["disconnect", "claude-code"]);
    expect(await settings()).toEqual(JSON.parse(before));
  });

  it("keeps a metrics exporter that goes elsewhere", async () => {
    await person.write(CLAUDE, '{ "env": { "OTEL_METRICS_EXPORTER": "prometheus" } }\n');
    await connect();
    expect(at(await settings(), ["env", "OTEL_METRICS_EXPORTER"])).toBe("prometheus");
  });

  it("names settings for another Plimsoll that it did not write", async () => {
    await person.write(
      CLAUDE,
      '{ "env": { "OTEL_EXPORTER_OTLP_ENDPOINT": "https://plimsoll.example/otlp", "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=plim_other" } }\n',
    );
    expect(await connect()).toContain(", for another Plimsoll server or key.");
    expect(await keyIn()).toBe("plim_other");
  });

  it("adopts settings that somebody pasted for this server", async () => {
    const printed = await person.run(["connect", "claude-code", "--print"]);
    const [, json] = /^# .*\n([\s\S]*)$/.exec(printed)!;
    await person.write(CLAUDE, json!);
    expect(await connect()).not.toContain("Created the key");
    expect(await accepts(await keyIn())).toBe(true);
  });

  it("makes a new key after the old one was revoked", async () => {
    await connect();
    const old = await keyIn();
    await person.run(["key", "revoke", old.slice(0, 12)]);
    expect(await person.run(["connections"])).toContain("is revoked; run connect again");
    const text = await connect();
    expect(text).toContain("The server rejects the key in the settings");
    expect(await keyIn()).not.toBe(old);
    expect(await accepts(await keyIn())).toBe(true);
  });

  it("restores only its own keys after somebody edited the file", async () => {
    await person.write(CLAUDE, '{\n  "model": "opus"\n}\n');
    await connect();
    const text = (await person.read(CLAUDE))
      .replace('"model": "opus"', '"model": "sonnet", // changed')
      .replace("http/protobuf", "http/json");
    await person.write(CLAUDE, text);
    expect(await person.run(["connections"])).toContain("env.OTEL_EXPORTER_OTLP_PROTOCOL in");
    const said = await person.run(["disconnect", "claude-code"]);
    expect(said).toContain("Kept env.OTEL_EXPORTER_OTLP_PROTOCOL");
    expect(said).toContain("Kept the copy");
    expect(await settings()).toEqual({ model: "sonnet", env: { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" } });
    expect(await person.read(CLAUDE)).toContain("// changed");
    expect(await backups()).toHaveLength(1);
  });

  it("never writes over a copy", async () => {
    await person.write(CLAUDE, '{ "a": 1 }\n');
    await connect();
    const [first] = await backups();
    await person.write(CLAUDE, '{ "a": 2 }\n');
    await person.run(["disconnect", "claude-code"]);
    await connect();
    expect(await backups()).toHaveLength(2);
    expect(await person.read(`.claude/${first}`)).toBe('{ "a": 1 }\n');
  });

  it("connects two folders apart, in files that are not shared, and disconnects one", async () => {
    const [one, two] = [await person.write("one/x", ""), await person.write("two/x", "")].map((path) =>
      join(path, ".."),
    );
    const here = process.cwd();
    const file = ".claude/settings.local.json";
    try {
      for (const folder of [one!, two!]) {
        process.chdir(folder);
        await connect("--project");
      }
      expect(await keyIn(`one/${file}`)).not.toBe(await keyIn(`two/${file}`));
      expect(await person.run(["connections", "--json"])).toMatch(
        /"scope": "project"[\s\S]*"scope": "project"/,
      );
      await person
        .run(["disconnect", "claude-code", "--user"])
        .catch((error: Error) => expect(error.message).toContain("no such connection"));
      expect(await accepts(await keyIn(`one/${file}`))).toBe(true);
    } finally {
      process.chdir(here);
    }
  });

  it("moves to another Plimsoll project with a key of that project", async () => {
    await connect();
    const old = await keyIn();
    await person.run(["project", "create", `other-${process.pid}`]);
    await connect("--to", `other-${process.pid}`);
    expect(await keyIn()).not.toBe(old);
    expect(await accepts(await keyIn())).toBe(true);
    expect(await accepts(old)).toBe(false);
  });

  it("says that the server does not answer, and writes nothing", async () => {
    await person.write(CLAUDE, "{}\n");
    const away = { env: { PLIMSOLL_URL: "http://127.0.0.1:9" } };
    const tried = person.run(["connect", "claude-code", "--yes"], away);
    await expect(tried).rejects.toThrow("Cannot reach Plimsoll at http://127.0.0.1:9");
    expect(await person.read(CLAUDE)).toBe("{}\n");
  });

  it("disconnects while the server is away, and says that the key still works", async () => {
    await connect();
    const key = await keyIn();
    const records = join(server.home, "connect");
    for (const name of await readdir(records)) {
      const path = join(records, name, "connection.json");
      const text = await readFile(path, "utf8").catch(() => undefined);
      if (text?.includes(person.home)) await writeFile(path, text.replace(server.url, "http://127.0.0.1:9"));
    }
    expect(await person.run(["disconnect", "claude-code"])).toContain(
      "could not be revoked at http://127.0.0.1:9",
    );
    await expect(stat(person.path(CLAUDE))).rejects.toThrow("ENOENT");
    expect(await accepts(key)).toBe(true);
  });

  it("waits until the first event arrives", async () => {
    const stop = new AbortController();
    const send = async () => {
      const now = String(BigInt(Date.now()) * 1_000_000n);
      const string = (key: string, stringValue: string) => ({ key, value: { stringValue } });
      await fetch(`${server.url}/otlp/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": await keyIn() },
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
    const text = await person.run(["connect", "claude-code", "--yes", "--wait"], {
      stop: stop.signal,
      onText: (said) => {
        if (isSent || !said.includes("Waiting for the first event")) return;
        isSent = true;
        void send();
      },
    });
    expect(text).toContain(`Events of Claude Code arrive, as claude-code@${hostname()}.`);
    expect(await person.run(["connections"])).toMatch(/claude-code +user +\S+ +just now/);
  });

  it("finds what is installed and asks for each", async () => {
    await person.write(".claude/x", "");
    await person.write(".codex/config.toml", 'model = "gpt-5.1" # mine\n\n[mcp_servers.a]\ncommand = "a"\n');
    const questions: string[] = [];
    const text = await person.run(["connect", "--no-wait"], {
      ask: async (question) => {
        questions.push(question);
        return question.includes("Codex") ? "yes" : "n";
      },
    });
    expect(text).toMatch(/Found Claude Code\.\nFound Codex CLI\./);
    expect(questions).toEqual([
      expect.stringContaining("status line"),
      "Connect Claude Code? [y/N] ",
      "Connect Codex CLI? [y/N] ",
    ]);
    await expect(stat(person.path(CLAUDE))).rejects.toThrow("ENOENT");
    const toml = await person.read(".codex/config.toml");
    expect(toml).toContain('model = "gpt-5.1" # mine');
    expect(at(parseSettings("toml", toml), ["otel", "exporter", "otlp-http", "protocol"])).toBe("binary");
    expect(await person.run(["connect", "codex", "--yes", "--no-wait"])).toContain("Nothing to change.");
    await person.run(["disconnect", "codex"]);
    expect(await person.read(".codex/config.toml")).toBe(
      'model = "gpt-5.1" # mine\n\n[mcp_servers.a]\ncommand = "a"\n',
    );
  });

  it("names an exporter of Codex that is there, and takes none for one that sends nothing", async () => {
    await person.write(
      ".codex/config.toml",
      '[otel]\nexporter = { otlp-http = { endpoint = "https://c.example", headers = { Authorization = "SECRET" } } }\n',
    );
    const text = await person.run(["connect", "codex", "--yes", "--no-wait"]);
    expect(text).toContain('otel.exporter is already set to "https://c.example".');
    expect(text).not.toContain("SECRET");
    await person.write(".codex/config.toml", '[otel]\nenvironment = "dev"\nexporter = "none"\n');
    expect(await person.run(["connect", "codex", "--yes", "--no-wait"])).toContain("Wrote");
    expect(await person.read(".codex/config.toml")).toContain('environment = "dev"');
  });

  it("does not hide the .env file that Gemini CLI loads now", async () => {
    await person.write(".gemini/settings.json", "{}\n");
    await person.write(".env", "# mine\nGEMINI_API_KEY=abc # key\n");
    const text = await person.run(["connect", "gemini-cli", "--yes", "--no-wait"]);
    expect(text).not.toContain("abc");
    expect(await person.read(".env")).toMatch(
      /^# mine\nGEMINI_API_KEY=abc # key\nOTEL_EXPORTER_OTLP_HEADERS=x-api-key=plim_\w+\n$/,
    );
    await expect(stat(person.path(".gemini/.env"))).rejects.toThrow("ENOENT");
    await person.run(["disconnect", "gemini-cli"]);
    expect(await person.read(".env")).toBe("# mine\nGEMINI_API_KEY=abc # key\n");
    expect(await person.read(".gemini/settings.json")).toBe("{}\n");
  });

  it("gives Copilot CLI its variables through a function of the shell, and nobody else", async () => {
    await person.write(".bashrc", "# mine");
    await person.run(["connect", "copilot", "--yes", "--no-wait"]);
    await person.write("bin/copilot", '#!/bin/sh\nprintf "%s|%s" "$OTEL_EXPORTER_OTLP_ENDPOINT" "$*"\n');
    await chmod(person.path("bin/copilot"), 0o755);
    const script = `. ${person.path(".bashrc")}; copilot -p "a b"; printf "|%s" "$OTEL_EXPORTER_OTLP_ENDPOINT"`;
    const path = `${person.path("bin")}:${process.env.PATH}`;
    const env = { NODE_ENV: "test" as const, PATH: path, HOME: person.home };
    const { stdout } = await run("bash", ["-c", script], { env });
    expect(stdout).toBe(`${server.url}/otlp|-p a b|`);
    expect((await stat(join(server.home, "connect/copilot.env"))).mode & 0o777).toBe(0o600);
    expect(await person.read(".bashrc")).not.toContain("plim_");
    await person.run(["disconnect", "copilot"]);
    expect((await person.read(".bashrc")).trimEnd()).toBe("# mine");
    await expect(stat(join(server.home, "connect/copilot.env"))).rejects.toThrow("ENOENT");
  });

  it("does not fight an alias, and does not edit the file of another shell", async () => {
    await person.write(".bashrc", "alias copilot='copilot --banner'\n");
    const text = await person.run(["connect", "copilot", "--yes", "--no-wait", "--replace"]);
    expect(text).toContain("which hides the one that Plimsoll would add");
    expect(await person.read(".bashrc")).toBe("alias copilot='copilot --banner'\n");
    const fish = person.run(["connect", "copilot", "--yes"], { env: { SHELL: "/usr/bin/fish" } });
    await expect(fish).rejects.toThrow("cannot edit the start file of fish");
  });

  it("connects with a key that was given, and not with a wrong one", async () => {
    const key = (await person.run(["key", "create", "--scope", "ingest", "--quiet"])).trim();
    await expect(connect("--ingest-key", "plim_wrong")).rejects.toThrow("rejects this ingest key");
    const env = { PLIMSOLL_INGEST_KEY: key, PLIMSOLL_KEY: key };
    const text = await person.run(["connect", "claude-code", "--yes", "--wait"], { env });
    expect(text).toContain("This key may not read");
    expect(await keyIn()).toBe(key);
    await person.run(["disconnect", "claude-code"]);
    expect(await accepts(key)).toBe(true);
  });

  it("puts back the first file if the second cannot be written", async () => {
    await person.write(".gemini/settings.json", "{}\n");
    await chmod(await person.write(".env", "A=1\n"), 0o444);
    await expect(person.run(["connect", "gemini-cli", "--yes", "--no-wait"])).rejects.toThrow("is read-only");
    expect(await person.read(".gemini/settings.json")).toBe("{}\n");
    expect(await person.run(["connections"])).toContain("No harness is connected");
  });

  it("lists a connection whose file is gone", async () => {
    await connect();
    await unlink(person.path(CLAUDE));
    expect(await person.run(["connections"])).toContain("env.OTEL_EXPORTER_OTLP_ENDPOINT in");
    expect(await person.run(["disconnect", "claude-code"])).toContain("somebody removed it since");
  });

  it("adds the level to a status line that is there, keeps it, and restores the old one", async () => {
    const before = JSON.stringify({ statusLine: { type: "command", command: "echo 'my line'", padding: 0 } });
    await person.write(CLAUDE, before);
    await connect("--statusline");
    const line = at(await settings(), ["statusLine"]) as { command: string; padding: number };
    expect(line.padding).toBe(0);
    expect(line.command).toMatch(/ statusline --wrap 'echo .*my line/);
    expect(await connect()).toContain("Nothing to change.");
    expect(await connect("--statusline")).toContain("Nothing to change.");
    await person.run(["disconnect", "claude-code"]);
    expect(await settings()).toEqual(JSON.parse(before));
  });

  it("has no settings of a project for Codex", async () => {
    await expect(person.run(["connect", "codex", "--project", "--yes"])).rejects.toThrow(
      "not from a project",
    );
    await expect(person.run(["connect", "aider"])).rejects.toThrow('cannot connect the harness "aider"');
  });
});
