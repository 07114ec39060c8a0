import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { replaceFile } from "@plimsoll/guard/node";
import { requireSafeFolder } from "../bridge/settings-file.ts";
import type { CommandContext } from "../command-context.ts";
import { connect, isLoopback } from "../connection.ts";
import { CliError, messageOf } from "../errors.ts";
import { type Env, homeFolder } from "../home-folder.ts";
import { proveServer } from "../local-proof.ts";
import { printable, type Terminal } from "../terminal.ts";
import { environmentText, labelOf, launchAgent, type ServiceUnit, systemdUnit } from "./unit.ts";

export type ServiceKind = { kind: "tail" | "forward"; args: readonly string[] } | { kind: "server" };

/** A service that is installed. */
export interface InstalledService {
  name: string;
  /** Its unit. */
  path: string;
  system: boolean;
  /** As the system says: `active`, `failed`, `inactive`. */
  state(): Promise<string>;
}

const run = promisify(execFile);
const SYSTEM_UNITS = "/etc/systemd/system";
/** Flags that `npm start` gives Node. */
const SERVER_FLAGS = ["--max-semi-space-size=32", "--heap-growing-percent=150"];

/** The settings that a service needs: ours, and those of Node about the network. */
const isSetting = (name: string) =>
  /^(?:PLIMSOLL_|DATABASE_)/.test(name) ||
  ["PORT", "LOG_LEVEL", "NODE_EXTRA_CA_CERTS", "OPENCODE_SERVER_PASSWORD"].includes(name) ||
  /^(?:https_proxy|no_proxy)$/i.test(name);

/** Milliseconds between two looks at a service that was started, and how many looks there are at most: two minutes. */
const LOOK_MS = 500;
const MOST_LOOKS = 240;
/** Looks in a row that must find a service running, and that find it ended: it starts again after 30 s. */
const STEADY_LOOKS = 10;
const ENDED_LOOKS = 4;
const LOG_LINES = 15;

/**
 * Writes a unit, enables and starts it, and waits until the service stays up.
 * @param pause waits for so many ms
 * @returns what to tell
 * @throws CliError if this system has no services, or one cannot be installed or does not stay up
 */
export async function installService(
  kind: ServiceKind,
  { system }: { system: boolean },
  { env, err }: CommandContext,
  pause: (ms: number) => Promise<void>,
): Promise<string[]> {
  const isMac = process.platform === "darwin";
  if (process.platform !== "linux" && !isMac)
    throw new CliError("Services are for Linux with systemd, and for macOS.");
  const isRoot = process.getuid?.() === 0;
  if (system && (isMac || !isRoot)) throw new CliError("--system needs Linux and root: use sudo.");
  // A damaged login, or a URL that nobody can reach, is reported here and not in the log of a service.
  if (kind.kind !== "server") await connect({}, env);
  const home = homeFolder(env);
  const unit = unitOf(kind, { home, system, program: programPath() });
  const environment = environmentOf(env, home);
  await requireSafeFolder(home);
  const isOfRoot = system && unit.user === undefined;
  // PostgreSQL of root runs as another user, who passes through.
  const isNew = (await mkdir(home, { recursive: true, mode: isOfRoot ? 0o711 : 0o700 })) !== undefined;
  if (isNew && unit.user !== undefined) await run("chown", [`${unit.user}:`, home]);
  if (isOfRoot && !env.DATABASE_URL) await makeDatabaseUser();
  const path = pathOf(unit.name, system, env);
  await mkdir(dirname(path), { recursive: true });
  const started = { name: unit.name, system, home, url: kind.kind === "server" ? ownUrl(env) : undefined };
  if (isMac) {
    await writeOwn(path, launchAgent(unit, environment));
    await launchctl("bootout", unit.name).catch(() => {});
    await run("launchctl", ["bootstrap", `gui/${process.getuid?.() ?? 0}`, path]);
    await waitUntilUp(started, err, pause);
    return [`${unit.name} runs, and starts again with this machine.`, `Unit: ${path}`];
  }
  await writeOwn(unit.environmentFile, environmentText(environment));
  await replaceFile(path, (file) => file.writeFile(systemdUnit(unit)), { mode: 0o644 });
  try {
    await systemctl(system, "daemon-reload");
    await systemctl(system, "enable", `${unit.name}.service`);
    await systemctl(system, "restart", `${unit.name}.service`);
  } catch (error) {
    const flag = system ? "" : "--user ";
    throw new CliError(`The unit ${path} is written, but systemd did not start it: ${said(error)}`, {
      hint: `Where systemd runs: systemctl ${flag}daemon-reload && systemctl ${flag}enable --now ${unit.name}`,
      cause: error,
    });
  }
  await waitUntilUp(started, err, pause);
  const lines = [`${unit.name} runs. Its log: journalctl ${system ? "" : "--user "}-u ${unit.name}`];
  if (system) return lines;
  // Else it would run only while its user is logged in.
  const lingers = await run("loginctl", ["enable-linger"]).then(
    () => true,
    () => false,
  );
  if (!lingers)
    lines.push(
      "It starts when you log in. To start it with the machine, run: sudo loginctl enable-linger $USER",
    );
  return lines;
}

interface StartedService {
  name: string;
  system: boolean;
  home: string;
  /** Where it answers, if it is a server of this machine. */
  url: string | undefined;
}

/** Where a server with these settings answers on this machine; undefined if it listens on another address alone. */
function ownUrl({ PLIMSOLL_LISTEN: listen = "", PORT: port = "" }: Env): string | undefined {
  const host = listen.includes(":") ? `[${listen}]` : listen;
  const url = `http://${["", "0.0.0.0", "[::]"].includes(host) ? "127.0.0.1" : host}:${port || "4180"}`;
  return isLoopback(url) ? url : undefined;
}

/** @throws CliError with the end of the log */
async function waitUntilUp(service: StartedService, err: Terminal, pause: (ms: number) => Promise<void>) {
  const { name, system, home, url } = service;
  const awaited = url === undefined ? "stay up for 5 s" : `answer at ${url} for 5 s`;
  err.write(`${printable(`Waiting for ${name} to ${awaited}`)}\n`);
  let [steady, ended] = [0, 0];
  for (let looks = 0; looks < MOST_LOOKS && ended < ENDED_LOOKS; looks++) {
    await pause(LOOK_MS);
    const isActive = (await stateOf(name, system)) === "active";
    ended = isActive ? 0 : ended + 1;
    steady = isActive && (url === undefined || (await answers(url, home))) ? steady + 1 : 0;
    if (steady === STEADY_LOOKS) return;
  }
  const why =
    ended > 0 ? `${name} was installed, but it ends again` : `${name} runs, but does not ${awaited}`;
  const log = await logOf(service);
  const said = log.length === 0 ? "Its log cannot be read." : `The end of its log:\n${log.join("\n")}`;
  throw new CliError(`${why}. ${said}`, {
    hint: `It is started again every 30 s. To stop that: npx plimsoll service uninstall ${name}`,
  });
}

/** Whether the server of a home answers, and no other program. */
async function answers(url: string, home: string): Promise<boolean> {
  const token = (await readText(join(home, "local-token"))).trim();
  return (
    token !== "" &&
    proveServer(url, token).then(
      (proven) => typeof proven !== "string",
      () => false,
    )
  );
}

/** The last lines that a service wrote; none if they cannot be read. */
async function logOf({ name, system, home }: StartedService): Promise<string[]> {
  const unit = [...(system ? [] : ["--user"]), "--unit", name];
  const shown = ["--lines", String(LOG_LINES), "--no-pager", "--quiet", "--output", "cat"];
  const text =
    process.platform === "darwin"
      ? await readText(join(home, `${name}.log`))
      : await run("journalctl", [...unit, ...shown]).then(
          ({ stdout }) => stdout,
          () => "",
        );
  return text.trimEnd().split("\n").filter(Boolean).slice(-LOG_LINES);
}

/** What useradd ends with if there is the user already. */
const EXISTS = 9;

/**
 * Makes the user that a server of root runs PostgreSQL as. The server does so itself, but not in a unit, which may not write to /etc.
 * @throws CliError
 */
async function makeDatabaseUser(): Promise<void> {
  const account = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"];
  await run("useradd", [...account, "--shell", "/usr/sbin/nologin", "plimsoll"]).catch((error) => {
    if (error.code !== EXISTS)
      throw new CliError(`The user plimsoll, which runs PostgreSQL, cannot be made: ${said(error)}`);
  });
}

/** @throws CliError */
function unitOf(
  kind: ServiceKind,
  { home, system, program }: { home: string; system: boolean; program: string },
): ServiceUnit {
  const name = nameOf(kind);
  const common = { name, environmentFile: join(home, `${name}.env`), writes: home, system };
  if (kind.kind !== "server") {
    return {
      ...common,
      description: `Plimsoll ${kind.kind}`,
      command: [process.execPath, program, kind.kind, ...kind.args.map(absolute)],
      folder: homedir(),
    };
  }
  const root = join(dirname(program), "../../..");
  const start = join(root, "scripts/start.mjs");
  if (!existsSync(start) || !existsSync(join(root, "dist/server/main.js"))) {
    throw new CliError(`There is no built server in ${root}.`, {
      hint: "Install the package plimsoll, or run npm start in the checkout first.",
    });
  }
  const user = system && process.env.SUDO_USER ? process.env.SUDO_USER : undefined;
  return {
    ...common,
    description: "Plimsoll server",
    command: [process.execPath, ...SERVER_FLAGS, start],
    folder: root,
    user,
  };
}

/** A service runs in another folder. Options and URLs stay as they are. */
const absolute = (word: string) => (existsSync(word) ? resolve(word) : word);

function nameOf(kind: ServiceKind): string {
  if (kind.kind !== "forward") return `plimsoll-${kind.kind}`;
  // One for each connection, whose folder has a name of its own.
  const folder = basename(kind.args.at(-1)!).replace(/[^\w-]/g, "");
  return `plimsoll-forward-${folder}`;
}

/** @throws CliError for a program that npm may remove at any time */
function programPath(): string {
  const program = realpathSync(process.argv[1]!);
  if (!/[\\/]_npx[\\/]/.test(program)) return program;
  throw new CliError("This program is in the cache of npx, which npm empties.", {
    hint: "Install it first, and run the installed one: npm install --global plimsoll",
  });
}

function environmentOf(env: Env, home: string): Record<string, string> {
  const given = Object.entries(env).filter(
    (entry): entry is [string, string] => isSetting(entry[0]) && entry[1] !== undefined && entry[1] !== "",
  );
  const broken = given.find(([, value]) => /[\r\n\0]/.test(value));
  if (broken !== undefined) throw new CliError(`${broken[0]} has a line break, which no service can have.`);
  return { ...Object.fromEntries(given), PLIMSOLL_HOME: home };
}

const writeOwn = (path: string, text: string) =>
  replaceFile(path, (file) => file.writeFile(text), { mode: 0o600 });

function unitsFolder(system: boolean, env: Env): string {
  if (process.platform === "darwin") return join(env.HOME || homedir(), "Library/LaunchAgents");
  if (system) return SYSTEM_UNITS;
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "systemd/user");
}

const pathOf = (name: string, system: boolean, env: Env) =>
  join(
    unitsFolder(system, env),
    process.platform === "darwin" ? `${labelOf(name)}.plist` : `${name}.service`,
  );

const systemctl = (system: boolean, ...args: string[]) =>
  run("systemctl", [...(system ? [] : ["--user"]), ...args]);

const launchctl = (verb: string, name: string) =>
  run("launchctl", [verb, `gui/${process.getuid?.() ?? 0}/${labelOf(name)}`]);

const said = (error: unknown) => (error as { stderr?: string }).stderr?.trim() || messageOf(error);

/** Every service of this user, and those of the machine. */
export async function installedServices(env: Env): Promise<InstalledService[]> {
  const isMac = process.platform === "darwin";
  const found: InstalledService[] = [];
  for (const system of isMac ? [false] : [false, true]) {
    const folder = unitsFolder(system, env);
    for (const file of (await readdir(folder).catch(() => [])).sort()) {
      const name = /^(?:dev\.plimsoll\.)?(plimsoll-[\w-]+)\.(?:service|plist)$/.exec(file)?.[1];
      if (name === undefined) continue;
      found.push({ name, path: join(folder, file), system, state: () => stateOf(name, system) });
    }
  }
  return found;
}

async function stateOf(name: string, system: boolean): Promise<string> {
  if (process.platform === "darwin")
    return launchctl("print", name).then(
      ({ stdout }) => (/^\s*state = running$/m.test(stdout) ? "active" : "inactive"),
      () => "inactive",
    );
  // It answers a service that does not run with an exit code.
  return systemctl(system, "is-active", `${name}.service`).then(
    ({ stdout }) => stdout.trim(),
    (error: { stdout?: string }) => error.stdout?.trim() || "unknown, because systemd does not answer",
  );
}

/** Stops a service and removes its files. What it wrote stays. */
export async function uninstallService({ name, path, system }: InstalledService): Promise<void> {
  if (process.platform === "darwin") await launchctl("bootout", name).catch(() => {});
  else await systemctl(system, "disable", "--now", `${name}.service`).catch(() => {});
  const environmentFile = /^EnvironmentFile=(.+)$/m.exec(await readText(path))?.[1]?.replaceAll("%%", "%");
  if (environmentFile !== undefined) await rm(environmentFile, { force: true });
  await rm(path, { force: true });
  if (process.platform !== "darwin") await systemctl(system, "daemon-reload").catch(() => {});
}

const readText = (path: string) => readFile(path, "utf8").catch(() => "");
