import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../root.ts";

const CLI = join(projectRoot(), "packages/cli");
const PROGRAM = join(CLI, "bin/plimsoll.js");

/** Builds the command line, unless it is up to date: its sources take ten times as long to start. */
export const buildCommandLine = () =>
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: CLI,
    env: { ...process.env, WIREIT_CACHE: "none" },
    stdio: "pipe",
  });

const ip = (...args: string[]) => execFileSync("ip", args, { stdio: "pipe" });

/** Whether this machine lets the test play other machines, which needs root, iproute2 and util-linux. */
export const canPlayMachines =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["--uts", "--net", "ip", "link"]).status === 0;

export interface RunningCommand {
  /** What it has printed. */
  said(): string;
  /** Resolves with what it printed; rejects if it fails. */
  ended: Promise<string>;
}

/** A machine with a network, a host name and a home of its own. */
export interface PlayedMachine {
  name: string;
  address: string;
  home: string;
  /** Runs `plimsoll` on it. */
  plimsoll(...args: string[]): RunningCommand;
}

/**
 * Machines in one network with this one, as network namespaces on a bridge.
 * @param env of every command on them
 */
export function playMachines(names: readonly string[], env: () => Record<string, string>) {
  const id = `pl${process.pid.toString(36)}`;
  // Of the range for tests between networks (RFC 2544), so that it meets no real network.
  const subnet = `198.18.${process.pid % 256}`;
  const address = `${subnet}.1`;
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-machines-"));
  ip("link", "add", id, "type", "bridge");
  ip("addr", "add", `${address}/24`, "dev", id);
  ip("link", "set", id, "up");
  const machines = names.map((name, index): PlayedMachine => {
    const space = `${id}-${index}`;
    const own = `${subnet}.${index + 2}`;
    ip("netns", "add", space);
    ip("link", "add", space, "type", "veth", "peer", "name", "eth0", "netns", space);
    ip("link", "set", space, "master", id, "up");
    ip("-n", space, "addr", "add", `${own}/24`, "dev", "eth0");
    ip("-n", space, "link", "set", "eth0", "up");
    const home = mkdtempSync(join(folder, `${name}-`));
    return { name, address: own, home, plimsoll: (...args) => run(space, name, home, args, env()) };
  });
  return {
    /** Of this machine, where the others reach it. */
    address,
    machines,
    remove(): void {
      for (const index of names.keys()) ip("netns", "del", `${id}-${index}`);
      ip("link", "del", id);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function run(
  space: string,
  name: string,
  home: string,
  args: readonly string[],
  env: Record<string, string>,
): RunningCommand {
  const named = ["unshare", "--uts", "sh", "-c", 'hostname "$1"; shift; exec "$@"', "sh", name];
  const program = [process.execPath, PROGRAM, ...args];
  const child = spawn("ip", ["netns", "exec", space, ...named, ...program], {
    cwd: projectRoot(),
    env: {
      NODE_ENV: "test",
      PATH: process.env.PATH,
      HOME: home,
      PLIMSOLL_HOME: join(home, ".plimsoll"),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const output of [child.stdout, child.stderr])
    output.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  const ended = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(text);
      else reject(new Error(`plimsoll ${args.join(" ")} on ${name} ended with ${code}:\n${text}`));
    });
  });
  ended.catch(() => {});
  return { said: () => text, ended };
}
