import { execFile } from "node:child_process";
import { chmod, mkdir, realpath, rm, stat, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { at } from "@plimsoll/harnesses/fields";
import { describe, expect, it } from "vitest";
import { parseSettings } from "../bridge/edit/edit.ts";
import { stateFolder } from "../bridge/journal.ts";
import { CLAUDE_SETTINGS, connectStage } from "../testing/connect-run.ts";
import { allRecords } from "./record.ts";

const run = promisify(execFile);
const _ENDPOINT = ["env", "OTEL_EXPORTER_OTLP_ENDPOINT"];

describe("plimsoll connect, with each harness and a real server", () => {
  const stage = connectStage();

  it("finds what is installed and asks for each", async () => {
    await stage.person.write(".claude/x", "");
    await stage.person.write(
      ".codex/config.toml",
      'model = "gpt-5.1" # mine\n\n[mcp_servers.a]\ncommand = "a"\n',
    );
    const questions: string[] = [];
    const text = await stage.person.run(["connect", "--no-wait"], {
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
    await expect(stat(stage.person.path(CLAUDE_SETTINGS))).rejects.toThrow("ENOENT");
    const toml = await stage.person.read(".codex/config.toml");
    expect(toml).toContain('model = "gpt-5.1" # mine');
    expect(at(parseSettings("toml", toml), ["otel", "exporter", "otlp-http", "protocol"])).toBe("binary");
    expect(await stage.person.run(["connect", "codex", "--yes", "--no-wait"])).toContain(
      "Nothing to change.",
    );
    await stage.person.run(["disconnect", "codex"]);
    expect(await stage.person.read(".codex/config.toml")).toBe(
      'model = "gpt-5.1" # mine\n\n[mcp_servers.a]\ncommand = "a"\n',
    );
  });

  it("names an exporter of Codex that is there, and takes none for one that sends nothing", async () => {
    await stage.person.write(
      ".codex/config.toml",
      '[otel]\nexporter = { otlp-http = { endpoint = "https://c.example", headers = { Authorization = "SECRET" } } }\n',
    );
    const text = await stage.person.run(["connect", "codex", "--yes", "--no-wait"]);
    expect(text).toContain('otel.exporter is already set to "https://c.example".');
    expect(text).not.toContain("SECRET");
    await stage.person.write(".codex/config.toml", '[otel]\nenvironment = "dev"\nexporter = "none"\n');
    expect(await stage.person.run(["connect", "codex", "--yes", "--no-wait"])).toContain("Wrote");
    expect(await stage.person.read(".codex/config.toml")).toContain('environment = "dev"');
  });

  it("does not hide the .env file that Gemini CLI loads now", async () => {
    await stage.person.write(".gemini/settings.json", "{}\n");
    await stage.person.write(".env", "# mine\nGEMINI_API_KEY=abc # key\n");
    const text = await stage.person.run(["connect", "gemini-cli", "--yes", "--no-wait"]);
    expect(text).not.toContain("abc");
    expect(await stage.person.read(".env")).toMatch(
      /^# mine\nGEMINI_API_KEY=abc # key\nOTEL_EXPORTER_OTLP_HEADERS=x-api-key=plim_\w+\nOTEL_EXPORTER_OTLP_TIMEOUT=200\n$/,
    );
    await expect(stat(stage.person.path(".gemini/.env"))).rejects.toThrow("ENOENT");
    await stage.person.run(["disconnect", "gemini-cli"]);
    expect(await stage.person.read(".env")).toBe("# mine\nGEMINI_API_KEY=abc # key\n");
    expect(await stage.person.read(".gemini/settings.json")).toBe("{}\n");
  });

  it("gives Copilot CLI its variables through a function of the shell, and nobody else", async () => {
    await stage.person.write(".bashrc", "# mine");
    await stage.person.run(["connect", "copilot", "--yes", "--no-wait"]);
    await stage.person.write(
      "bin/copilot",
      '#!/bin/sh\nprintf "%s|%s" "$OTEL_EXPORTER_OTLP_ENDPOINT" "$*"\n',
    );
    await chmod(stage.person.path("bin/copilot"), 0o755);
    const script = `. ${stage.person.path(".bashrc")}; copilot -p "a b"; printf "|%s" "$OTEL_EXPORTER_OTLP_ENDPOINT"`;
    const path = `${stage.person.path("bin")}:${process.env.PATH}`;
    const env = { NODE_ENV: "test" as const, PATH: path, HOME: stage.person.home };
    const { stdout } = await run("bash", ["-c", script], { env });
    expect(stdout).toBe(`${stage.server.url}/otlp|-p a b|`);
    expect((await stat(join(stage.server.home, "connect/copilot.env"))).mode & 0o777).toBe(0o600);
    expect(await stage.person.read(".bashrc")).not.toContain("plim_");
    await stage.person.run(["disconnect", "copilot"]);
    expect((await stage.person.read(".bashrc")).trimEnd()).toBe("# mine");
    await expect(stat(join(stage.server.home, "connect/copilot.env"))).rejects.toThrow("ENOENT");
  });

  it("does not fight an alias, and does not edit the file of another shell", async () => {
    await stage.person.write(".bashrc", "alias copilot='copilot --banner'\n");
    const text = await stage.person.run(["connect", "copilot", "--yes", "--no-wait", "--replace"]);
    expect(text).toContain("which hides the one that Plimsoll would add");
    expect(await stage.person.read(".bashrc")).toBe("alias copilot='copilot --banner'\n");
    const fish = stage.person.run(["connect", "copilot", "--yes"], { env: { SHELL: "/usr/bin/fish" } });
    await expect(fish).rejects.toThrow("cannot edit the start file of fish");
  });

  it("connects with a key that was given, and not with a wrong one", async () => {
    const key = (await stage.person.run(["key", "create", "--scope", "ingest", "--quiet"])).trim();
    await expect(stage.connect("--ingest-key", "plim_wrong")).rejects.toThrow("rejects this ingest key");
    const env = { PLIMSOLL_INGEST_KEY: key, PLIMSOLL_KEY: key };
    const send = async () => {
      const event = { type: "turn", id: "1", at: Date.now(), harness: "claude-code@box", session: "own-key" };
      const events = [{ ...event, model: "m", usage: { input_tokens: 5, output_tokens: 1 } }];
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const sent = { method: "POST", headers, body: JSON.stringify({ events }) };
      expect((await fetch(`${stage.server.url}/api/v1/events`, sent)).status).toBe(200);
    };
    let isSent = false;
    const text = await stage.person.run(["connect", "claude-code", "--yes", "--wait"], {
      env,
      onText: (said) => {
        if (isSent || !said.includes("Waiting for the first event of this key")) return;
        isSent = true;
        void send();
      },
    });
    expect(text).toContain("Events of this key arrive.");
    expect(await stage.keyIn()).toBe(key);
    await stage.person.run(["disconnect", "claude-code"]);
    expect(await stage.accepts(key)).toBe(true);
  });

  it("says what the server says against a key or an address", async () => {
    const read = (await stage.person.run(["key", "create", "--scope", "read", "--quiet"])).trim();
    await expect(stage.connect("--ingest-key", read)).rejects.toThrow(/ingest key: .*lacks the scope ingest/);
    const elsewhere = `http://0.0.0.0:${new URL(stage.server.url).port}`;
    const env = { PLIMSOLL_URL: elsewhere, PLIMSOLL_KEY: read };
    const connect = ["connect", "claude-code", "--yes", "--no-wait"];
    const unknown = /answered: This server is not known as 0\.0\.0\.0/;
    await expect(stage.person.run(connect, { env })).rejects.toThrow(unknown);
    await expect(stage.person.run([...connect, "--ingest-key", read], { env })).rejects.toThrow(unknown);
  });

  it.each([
    [404, "{}", "older than this command"],
    [404, "<h1>Not found</h1>", "older than this command"],
    [500, "[]", "same version"],
  ])("says that a server which answers %i with %s is none that fits", async (status, body, hint) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { "Content-Type": "application/json" }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connected = stage.person.run(["connect", "codex", "--yes", "--ingest-key", "plim_x"], {
      env: { PLIMSOLL_URL: url },
    });
    await expect(connected).rejects.toMatchObject({
      message: `${url}/otlp/v1/logs answered HTTP ${status}.`,
      hint: expect.stringContaining(hint),
    });
    server.close();
  });

  it("puts back the first file if the second cannot be written", async () => {
    await stage.person.write(".gemini/settings.json", "{}\n");
    await chmod(await stage.person.write(".env", "A=1\n"), 0o444);
    await expect(stage.person.run(["connect", "gemini-cli", "--yes", "--no-wait"])).rejects.toThrow(
      "is read-only",
    );
    expect(await stage.person.read(".gemini/settings.json")).toBe("{}\n");
    expect(await stage.person.run(["connections"])).toContain("No harness is connected");
    expect(await stage.backups(".gemini")).toEqual([]);
    expect(await stage.backups(".")).toEqual([]);
  });

  it("leaves no copies if what it did to the second file cannot be recorded", async () => {
    await stage.person.write(".gemini/settings.json", "{}\n");
    const env = await stage.person.write(".env", "A=1\n");
    const folder = stateFolder(stage.server.home, "gemini-cli", await realpath(env), "connect");
    await mkdir(dirname(folder), { recursive: true });
    await writeFile(folder, "");
    await expect(stage.person.run(["connect", "gemini-cli", "--yes", "--no-wait"])).rejects.toThrow();
    await rm(folder);
    expect(await stage.person.read(".gemini/settings.json")).toBe("{}\n");
    expect(await stage.person.read(".env")).toBe("A=1\n");
    expect([...(await stage.backups(".gemini")), ...(await stage.backups("."))]).toEqual([]);
  });

  describe("through a forwarder", () => {
    const GEMINI = ".gemini/settings.json";
    const connect = (...args: string[]) =>
      stage.person.run(["connect", "gemini-cli", "--yes", "--no-wait", ...args]);
    const endpoint = async () =>
      String(at(await stage.settings(GEMINI), ["telemetry", "otlpEndpoint"])).replace(/\/otlp$/, "");
    const record = async () => (await allRecords(stage.server.home))[0]!.record;

    it("sends what Gemini CLI reports, on a port that stays", async () => {
      await connect();
      const { forwardPort, url } = await record();
      expect([await endpoint(), url]).toEqual([`http://127.0.0.1:${forwardPort}`, stage.server.url]);
      expect(await connect()).toContain("Nothing to change.");
      expect(await stage.person.run(["connections"])).not.toContain("was changed");
    });

    it("sends nothing without its hook, and keeps the key in both directions", async () => {
      await connect("--no-hooks");
      const key = await stage.keyIn(".gemini/.env");
      expect([await endpoint(), (await record()).forwardPort]).toEqual([stage.server.url, undefined]);
      await connect();
      expect(await endpoint()).not.toBe(stage.server.url);
      expect(await stage.keyIn(".gemini/.env")).toBe(key);
      await connect("--no-hooks");
      expect(await endpoint()).toBe(stage.server.url);
      expect(await stage.keyIn(".gemini/.env")).toBe(key);
    });

    it("takes settings over that a person wrote for this server, and puts them back", async () => {
      const telemetry = { enabled: true, otlpEndpoint: `${stage.server.url}/otlp` };
      const before = JSON.stringify({ telemetry });
      await stage.person.write(GEMINI, before);
      expect(await connect()).not.toContain("Conflict");
      expect(await endpoint()).not.toBe(stage.server.url);
      await stage.person.run(["disconnect", "gemini-cli"]);
      expect(await stage.person.read(GEMINI)).toBe(before);
    });

    it("follows the connection to another server", async () => {
      await connect();
      const before = await endpoint();
      const other = `http://localhost:${new URL(stage.server.url).port}`;
      await stage.person.run(["connect", "gemini-cli", "--yes", "--no-wait"], {
        env: { PLIMSOLL_URL: other },
      });
      expect([await endpoint(), (await record()).url]).toEqual([before, other]);
    });
  });

  it("lists a connection whose file is gone", async () => {
    await stage.connect();
    await unlink(stage.person.path(CLAUDE_SETTINGS));
    expect(await stage.person.run(["connections"])).toContain("env.OTEL_EXPORTER_OTLP_ENDPOINT in");
    expect(await stage.person.run(["disconnect", "claude-code"])).toContain("somebody removed it since");
  });

  it("adds the level to a status line that is there, keeps it, and restores the old one", async () => {
    const before = JSON.stringify({ statusLine: { type: "command", command: "echo 'my line'", padding: 0 } });
    await stage.person.write(CLAUDE_SETTINGS, before);
    await stage.connect("--statusline");
    const line = at(await stage.settings(), ["statusLine"]) as { command: string; padding: number };
    expect(line.padding).toBe(0);
    expect(line.command).toMatch(/ statusline --wrap 'echo .*my line/);
    expect(await stage.connect()).toContain("Nothing to change.");
    expect(await stage.connect("--statusline")).toContain("Nothing to change.");
    // Flags that a person adds make it no other line.
    const flagged = line.command.replace(" statusline", " statusline --quota --cache");
    const withFlags = JSON.stringify({
      ...(await stage.settings()),
      statusLine: { ...line, command: flagged },
    });
    await stage.person.write(CLAUDE_SETTINGS, withFlags);
    expect(await stage.connect()).toContain("Nothing to change.");
    expect(await stage.connect("--statusline")).toContain("Nothing to change.");
    expect(await stage.person.read(CLAUDE_SETTINGS)).toBe(withFlags);
    await stage.person.run(["disconnect", "claude-code"]);
    expect(await stage.settings()).toEqual(JSON.parse(before));
  });

  it("has no settings of a project for Codex", async () => {
    await expect(stage.person.run(["connect", "codex", "--project", "--yes"])).rejects.toThrow(
      "not from a project",
    );
    await expect(stage.person.run(["connect", "aider"])).rejects.toThrow(
      'cannot connect the harness "aider"',
    );
  });
});
