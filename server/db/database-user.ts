import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";

/** The system user that PostgreSQL runs as when Plimsoll is root. It owns the data and nothing else. */
export const DATABASE_USER = "plimsoll";

export interface RunAs {
  uid: number;
  gid: number;
}

const run = promisify(execFile);

/** Nothing inherited: root runs no program that a PATH of somebody else leads to. */
export const SYSTEM_ENVIRONMENT = {
  PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
} as unknown as NodeJS.ProcessEnv;

/** How often the user is made while another process holds the lock of /etc/passwd, and the pause between, in ms. */
const ATTEMPTS = 25;
const PAUSE_MS = 200;

const MAKE_BY_HAND = `useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin ${DATABASE_USER}`;

/** Ways to make a system user: of most Linux systems, and of BusyBox. */
const MAKERS: [program: string, args: string[]][] = [
  ["useradd", MAKE_BY_HAND.split(" ").slice(1)],
  ["adduser", ["-S", "-D", "-H", "-h", "/nonexistent", "-s", "/sbin/nologin", DATABASE_USER]],
];

/**
 * The user that PostgreSQL is to run as: a dedicated one when Plimsoll is root, made if need be, because PostgreSQL
 * refuses to run as root and every program that runs as a shared user such as `nobody` could change its data.
 * @returns undefined unless Plimsoll runs as root
 * @throws PlimsollError `root_unsupported` where there is no such user and none can be made
 */
export async function databaseUser(log: Logger): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await lookUp();
  if (existing) return existing;
  let said = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    said = await makeUser();
    // Another process may have made it at the same moment.
    const made = await lookUp();
    if (made) {
      if (said === "")
        log.info({ user: DATABASE_USER, uid: made.uid }, "made the system user that PostgreSQL runs as");
      return made;
    }
    if (said === "" || !/lock|try again/i.test(said)) break;
    await sleep(PAUSE_MS);
  }
  throw new PlimsollError(
    "root_unsupported",
    `As root, Plimsoll runs PostgreSQL as the system user ${DATABASE_USER}, and that user cannot be made here${said ? `: ${said}` : ""}.`,
    { hint: `Start Plimsoll as an ordinary user. Or make the user: ${MAKE_BY_HAND}` },
  );
}

/** @returns what the programs said, or nothing when one succeeded */
async function makeUser(): Promise<string> {
  let said = "";
  for (const [program, args] of MAKERS) {
    try {
      await run(program, args, { env: SYSTEM_ENVIRONMENT });
      return "";
    } catch (error) {
      const { stderr, code } = error as { stderr?: string; code?: unknown };
      if (code !== "ENOENT") return (stderr ?? "").trim().slice(0, 300) || `${program} failed`;
      said = `there is neither ${MAKERS.map(([name]) => name).join(" nor ")}`;
    }
  }
  return said;
}

async function lookUp(): Promise<RunAs | undefined> {
  return findUser(await passwd(), DATABASE_USER);
}

/** The accounts of the system, also those that no file lists. */
async function passwd(): Promise<string> {
  const listed = await readFile("/etc/passwd", "utf8").catch(() => "");
  const found = await run("getent", ["passwd", DATABASE_USER], { env: SYSTEM_ENVIRONMENT }).catch(
    () => undefined,
  );
  return `${listed}\n${found?.stdout ?? ""}`;
}

/**
 * Finds a user in lines of /etc/passwd.
 * @throws PlimsollError `root_unsupported` if the user is root by another name, or shares its id with another user
 */
export function findUser(lines: string, user: string): RunAs | undefined {
  const accounts = lines.split("\n").map((line) => line.split(":"));
  const [, , uid, gid] = accounts.find(([name]) => name === user) ?? [];
  if (uid === undefined || gid === undefined) return undefined;
  const sharing = accounts.find(([name, , id]) => name !== undefined && name !== user && id === uid)?.[0];
  if (!/^\d+$/.test(uid) || !/^\d+$/.test(gid) || Number(uid) === 0 || sharing !== undefined) {
    throw new PlimsollError(
      "root_unsupported",
      `PostgreSQL cannot run as the user ${user}: ${sharing === undefined ? `its user id is ${uid}` : `it has the same user id as ${sharing}`}.`,
      { hint: `Give the user ${user} a user id of its own, or start Plimsoll as an ordinary user.` },
    );
  }
  return { uid: Number(uid), gid: Number(gid) };
}
