import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { serverProofText } from "@plimsoll/protocol/api";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addServiceCommands } from "./command.ts";
import { environmentText, launchAgent, type ServiceUnit, systemdUnit } from "./unit.ts";

const SYSTEM_UNIT = "/etc/systemd/system/plimsoll-server.service";
const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.js", import.meta.url));
const hasServer = existsSync(fileURLToPath(new URL("../../../../dist/server/main.js", import.meta.url)));

const hasSystemd = (() => {
  try {
    execFileSync("systemd-analyze", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

let folder: string;
const closing: (() => void)[] = [];
const { PATH, argv1 } = { PATH: process.env.PATH, argv1: process.argv[1]! };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-service-"));
});
afterEach(async () => {
  process.env.PATH = PATH;
  process.argv[1] = argv1;
  process.exitCode = undefined;
  for (const close of closing.splice(0)) close();
  await rm(folder, { recursive: true, force: true });
});

const unit = (more: Partial<ServiceUnit> = {}): ServiceUnit => ({
  name: "plimsoll-tail",
  description: "Plimsoll tail",
  command: [process.execPath, "/opt/plimsoll/bin/plimsoll.js", "tail", "/tmp"],
  folder: "/",
  environmentFile: "/tmp/plimsoll.env",
  writes: "/tmp",
  system: false,
  ...more,
});

describe("a unit", () => {
  it("restarts without end, and can write only to its own folder", () => {
    const text = systemdUnit(unit({ writes: "/home/me/.plimsoll" }));
    for (const line of [
      "Restart=always",
      "StartLimitIntervalSec=0",
      "NoNewPrivileges=yes",
      "ProtectSystem=strict",
      'ReadWritePaths="/home/me/.plimsoll"',
      "WantedBy=default.target",
    ])
      expect(text).toContain(`${line}\n`);
    expect(systemdUnit(unit({ system: true, user: "me" }))).toMatch(
      /User=me\n[\s\S]*WantedBy=multi-user\.target/,
    );
  });

  it("of a user asks for nothing that only the systemd of the machine may do", () => {
    const drops = /^(PrivateDevices|Protect(Clock|KernelLogs|KernelModules)|CapabilityBoundingSet|User)=/gm;
    expect(systemdUnit(unit()).match(drops)).toBeNull();
    expect(systemdUnit(unit({ system: true })).match(drops)).toHaveLength(4);
  });

  it.skipIf(!hasSystemd).each<[string, Partial<ServiceUnit>]>([
    ["of a user", {}],
    ["of the machine", { system: true }],
    [
      "with words that systemd would read as something else",
      {
        command: [process.execPath, "a b", 'say "x"', "100%", "$HOME", "back\\slash", "; rm", "'"],
        writes: "/tmp/a b",
        description: "100% of it",
      },
    ],
  ])("%s is one that systemd accepts", async (_, more) => {
    const path = join(folder, "plimsoll-test.service");
    await writeFile(path, systemdUnit(unit(more)));
    const said = execFileSync("systemd-analyze", ["verify", "--man=no", path], {
      encoding: "utf8",
      stdio: "pipe",
    });
    expect(said).toBe("");
  });

  it.skipIf(!hasSystemd)("has little that a program could misuse", async () => {
    const path = join(folder, "plimsoll-test.service");
    await writeFile(path, systemdUnit(unit({ system: true, user: "daemon" })));
    const text = execFileSync("systemd-analyze", ["security", "--offline=true", "--no-pager", path], {
      encoding: "utf8",
    });
    expect(Number(/exposure level for \S+: ([\d.]+)/.exec(text)?.[1])).toBeLessThan(6);
  });

  it("for macOS is XML, whatever its words are", () => {
    const text = launchAgent(unit({ command: ["node", '<a>&"b"'] }), { PLIMSOLL_KEY: "<&>" });
    expect(text).toContain("<string>&lt;a&gt;&amp;&quot;b&quot;</string>");
    expect(text).toContain("<key>PLIMSOLL_KEY</key>\n    <string>&lt;&amp;&gt;</string>");
    expect(text).toContain("<string>dev.plimsoll.plimsoll-tail</string>");
  });

  it("keeps quotes, dollars and spaces of its environment", () => {
    expect(environmentText({ A: 'x "y" $z `w` \\', B: "" })).toBe('A="x \\"y\\" \\$z \\`w\\` \\\\"\nB=""\n');
  });
});

describe.skipIf(process.platform !== "linux")("plimsoll service", () => {
  /**
   * A systemd that notes what it is asked.
   * @param states of a service that was started, one a look; the last one goes on
   */
  async function withSystemd(exitCode = 0, states = ["active"]): Promise<() => Promise<string>> {
    const bin = join(folder, "bin");
    await mkdir(bin);
    const log = join(folder, "asked");
    const looks = join(folder, "looks");
    await writeFile(looks, states.map((state) => `${state}\n`).join(""));
    const home = join(folder, "home");
    const started = `[ ! -d ${home} ] || printf token > ${join(home, "local-token")}`;
    const look = `head -n 1 ${looks}; [ $(wc -l < ${looks}) -gt 1 ] && sed -i 1d ${looks}; exit 0`;
    for (const name of ["systemctl", "loginctl", "journalctl"]) {
      await writeFile(
        join(bin, name),
        `#!/bin/sh\ncase "$*" in *is-active*) ${look};; *restart*) ${started};; esac\necho "${name} $*" >> ${log}\n[ ${name} = journalctl ] && echo "The port is taken."\n[ ${exitCode} = 0 ] || echo "Failed to connect to bus" >&2\nexit ${exitCode}\n`,
      );
      await chmod(join(bin, name), 0o755);
    }
    process.env.PATH = `${bin}${delimiter}${PATH}`;
    return () => readFile(log, "utf8");
  }

  async function run(args: string[], env: Record<string, string> = {}): Promise<string> {
    let text = "";
    const out = {
      width: 120,
      isTty: false,
      color: false,
      write: (more: string) => {
        text += more;
      },
    };
    const context = {
      env: { HOME: folder, PLIMSOLL_HOME: join(folder, "home"), ...env },
      out,
      err: out,
      now: Date.now,
      untilStopped: () => new AbortController().signal,
    };
    const program = new Command().enablePositionalOptions().exitOverride();
    addServiceCommands(program, context, async () => {});
    await program.parseAsync(["node", "plimsoll", "service", ...args]);
    return text;
  }

  it("installs tail for this user with its settings, shows and removes it", async () => {
    const asked = await withSystemd();
    const recordings = join(folder, "recordings");
    await mkdir(recordings);
    const env = {
      PLIMSOLL_URL: "https://plimsoll.example",
      PLIMSOLL_KEY: "plim_secret",
      HTTPS_PROXY: "http://p:1",
      SHELL: "/bin/sh",
    };
    const said = await run(["install", "tail", recordings, "--harness", "h@x"], env);
    expect(said).toContain("plimsoll-tail runs.");
    const path = join(folder, ".config/systemd/user/plimsoll-tail.service");
    const text = await readFile(path, "utf8");
    expect(text).toContain(`"tail" "${recordings}" "--harness" "h@x"`);
    expect(text).not.toContain("plim_secret");
    const environment = join(folder, "home/plimsoll-tail.env");
    expect((await stat(environment)).mode & 0o777).toBe(0o600);
    const lines = (await readFile(environment, "utf8")).trim().split("\n").sort();
    expect(lines).toEqual([
      'HTTPS_PROXY="http://p:1"',
      `PLIMSOLL_HOME="${join(folder, "home")}"`,
      'PLIMSOLL_KEY="plim_secret"',
      'PLIMSOLL_URL="https://plimsoll.example"',
    ]);
    expect(await asked()).toBe(
      "systemctl --user daemon-reload\nsystemctl --user enable plimsoll-tail.service\nsystemctl --user restart plimsoll-tail.service\nloginctl enable-linger\n",
    );
    expect(await run(["status"])).toContain(`plimsoll-tail  active  ${path}`);
    expect(await run(["uninstall", "plimsoll-tail"])).toBe("Removed plimsoll-tail.\n");
    expect(await asked()).toContain("systemctl --user disable --now plimsoll-tail.service");
    await expect(stat(path)).rejects.toThrow("ENOENT");
    await expect(stat(environment)).rejects.toThrow("ENOENT");
    expect(await run(["status"])).toBe("No service is installed.\n");
  });

  it("says that a service runs only after it stayed up, also if it was slow to start", async () => {
    await withSystemd(0, ["activating", "activating", "inactive", "active"]);
    const said = await run(["install", "tail", folder]);
    expect(said).toMatch(/^Waiting for plimsoll-tail to stay up for 5 s\nplimsoll-tail runs\./);
  });

  it.each([
    ["at once", ["failed"]],
    ["after some seconds", [...Array(9).fill("active"), "activating"]],
  ])("shows the log of a service that ends %s", async (_, states) => {
    const asked = await withSystemd(0, states);
    const failed = run(["install", "tail", folder]);
    await expect(failed).rejects.toThrow(
      "plimsoll-tail was installed, but it ends again. The end of its log:\nThe port is taken.",
    );
    await expect(failed).rejects.toMatchObject({
      exitCode: 1,
      hint: expect.stringContaining("service uninstall plimsoll-tail"),
    });
    expect(await asked()).toContain("journalctl --user --unit plimsoll-tail --lines 15");
  });

  it("names a forwarder by its connection", async () => {
    await withSystemd();
    await run(["install", "forward", "--connection", join(folder, "home/connect/codex-1a2b")]);
    expect(await run(["status"])).toContain("plimsoll-forward-codex-1a2b  active");
  });

  /** A server that can read the token, or cannot. @returns its port */
  async function serverWith(token: string): Promise<string> {
    const server = createServer(({ url = "" }, response) => {
      const challenge = new URLSearchParams(url.split("?")[1]).get("challenge")!;
      const text = serverProofText({ challenge, instance: "i", address: "127.0.0.1", port });
      const proof = createHmac("sha256", token).update(text).digest("hex");
      response.end(JSON.stringify({ instance: "i", proof }));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    closing.push(() => server.close());
    return String(port);
  }

  it.skipIf(!hasServer)("waits until a server answers, and not another program at its address", async () => {
    await withSystemd(0, [...Array(25).fill("active"), "failed"]);
    process.argv[1] = PROGRAM;
    const said = await run(["install", "--server"], { PORT: await serverWith("token") });
    expect(said).toMatch(/^Waiting for plimsoll-server to answer at http:\/\/127\.0\.0\.1:\d+ for 5 s\n/);
    expect(said).toContain("plimsoll-server runs.");
    const other = run(["install", "--server"], { PORT: await serverWith("another") });
    await expect(other).rejects.toThrow("plimsoll-server was installed, but it ends again.");
  });

  // It writes the unit where a real one would be.
  const canInstall = process.getuid?.() === 0 && hasServer && !existsSync(SYSTEM_UNIT);
  it.skipIf(!canInstall).each<[string, Record<string, string>, number, number, string[]]>([
    ["root, with a user for PostgreSQL, who passes through the home", {}, 0, 0o711, ["plimsoll"]],
    ["root with a database elsewhere, without that user", { DATABASE_URL: "postgresql://x" }, 0, 0o711, []],
    ["the one who called sudo, with a home of their own", { SUDO_USER: "daemon" }, 1, 0o700, []],
  ])("installs the server of the machine for %s", async (_, env, uid, mode, made) => {
    await withSystemd();
    const useradd = join(folder, "bin/useradd");
    // The user is there already.
    await writeFile(useradd, `#!/bin/sh\nfor last; do :; done\necho "$last" >> ${folder}/made\nexit 9\n`);
    await chmod(useradd, 0o755);
    process.argv[1] = PROGRAM;
    process.env.SUDO_USER = env.SUDO_USER ?? "";
    const PORT = await serverWith("token");
    try {
      expect(await run(["install", "--server", "--system"], { ...env, PORT })).toContain(
        "plimsoll-server runs.",
      );
      expect(await readFile(SYSTEM_UNIT, "utf8")).toContain("ProtectClock=yes");
      const home = await stat(join(folder, "home"));
      expect([home.uid, home.mode & 0o777]).toEqual([uid, mode]);
      const users = await readFile(join(folder, "made"), "utf8").catch(() => "");
      expect(users.split("\n").filter(Boolean)).toEqual(made);
    } finally {
      delete process.env.SUDO_USER;
      await run(["uninstall", "plimsoll-server"]);
    }
    await expect(stat(SYSTEM_UNIT)).rejects.toThrow("ENOENT");
  });

  it("says what to do where systemd does not run, and keeps the unit", async () => {
    await withSystemd(1);
    const failed = run(["install", "tail", folder]);
    await expect(failed).rejects.toThrow(
      /is written, but systemd did not start it: Failed to connect to bus/,
    );
    await expect(failed).rejects.toMatchObject({
      hint: expect.stringContaining("enable --now plimsoll-tail"),
    });
  });

  it.each([
    [[], /Name what the service runs/],
    [["tail"], /Name what the service runs/],
    [["status"], /Name what the service runs/],
    [["--system", "tail", "/tmp"], /--system goes with --server/],
  ])("install %j is refused", async (args, expected) => {
    await expect(run(["install", ...args])).rejects.toThrow(expected);
  });

  it("does not run from the cache of npx, nor with a setting that has a line break", async () => {
    await withSystemd();
    await expect(run(["install", "tail", "/tmp"], { PLIMSOLL_KEY: "a\nb" })).rejects.toThrow(/line break/);
    const cached = join(folder, "_npx/1/plimsoll.js");
    await mkdir(join(folder, "_npx/1"), { recursive: true });
    await writeFile(cached, "");
    process.argv[1] = cached;
    await expect(run(["install", "tail", "/tmp"])).rejects.toThrow(/cache of npx/);
  });

  it("tells a damaged login before it installs anything", async () => {
    await withSystemd();
    await mkdir(join(folder, "home"));
    await writeFile(join(folder, "home/login.json"), "{");
    await expect(run(["install", "tail", "/tmp"])).rejects.toThrow(/login\.json is damaged/);
    expect(await run(["status"])).toBe("No service is installed.\n");
  });
});
