import { execFile } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";
import type { RunAs } from "./layout.ts";

/** The user that PostgreSQL runs as when Plimsoll is root. No other program may run as this user. */
const NAME = "plimsoll";

const USERADD = "useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin";
const AS_ORDINARY_USER = "Start Plimsoll as an ordinary user";

/** Attempts while another program holds the lock of /etc/passwd, and the pause between them in ms. */
const ATTEMPTS = 20;
const PAUSE_MS = 250;

/**
 * The lock file of /etc/passwd, which only root can open. Programs that change users lock it by fcntl, and this one by
 * flock: of two useradd at once, the later one gives the user of the earlier one another uid.
 */
const LOCK_FILE = "/etc/.pwd.lock";

const PROGRAM_LIMIT_MS = 30_000;

const run = promisify(execFile);

export interface Account extends RunAs {
  name: string;
}

/** Parses lines as in /etc/passwd; skips any other. */
export function parseAccounts(text: string): Account[] {
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid, ...more] = line.split(":");
    if (!name || more.length < 3 || !/^\d+$/.test(uid ?? "") || !/^\d+$/.test(gid ?? "")) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}

export type Unfit = "has uid 0" | "has gid 0" | `shares its uid with ${string}`;

/** Why PostgreSQL must not run as `account`; undefined if it may. */
export function whyUnfit(account: Account, others: Account[]): Unfit | undefined {
  if (account.uid === 0) return "has uid 0";
  if (account.gid === 0) return "has gid 0";
  const same = others.find(({ name, uid }) => uid === account.uid && name !== account.name);
  return same === undefined ? undefined : `shares its uid with ${same.name}`;
}

/**
 * The user that PostgreSQL runs as, if Plimsoll is root; PostgreSQL refuses to run as root. Creates the system user
 * `plimsoll` if there is none.
 * @param dataOwner uid of an existing data folder. A new user gets it, if it is free: the volume of a container
 * outlives its /etc/passwd
 * @returns undefined unless Plimsoll runs as root
 * @throws PlimsollError `root_unsupported`
 */
export async function databaseUser(log: Logger, dataOwner?: number): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = (await findUser()) ?? (await makeUser(log, await freeUid(dataOwner)));
  return { uid, gid };
}

async function findUser(): Promise<Account | undefined> {
  const listed = parseAccounts(await readFile("/etc/passwd", "utf8").catch(() => ""));
  const account = [...(await getent(NAME)), ...listed].find(({ name }) => name === NAME);
  if (account === undefined) return undefined;
  const unfit = whyUnfit(account, [...listed, ...(await getent(String(account.uid)))]);
  if (unfit === undefined) return account;
  throw new PlimsollError(
    "root_unsupported",
    `As root, Plimsoll runs PostgreSQL as the user ${NAME}, and ${NAME} ${unfit}.`,
    { hint: `Give ${NAME} a user id and a group of its own. Or: ${AS_ORDINARY_USER}.` },
  );
}

/** Entries from every source of users that this system has; none without the program. */
const getent = (key: string): Promise<Account[]> =>
  run("getent", ["passwd", key], options()).then(
    ({ stdout }) => parseAccounts(stdout),
    () => [],
  );

/** @returns `uid` if a new user may have it */
async function freeUid(uid: number | undefined): Promise<number | undefined> {
  if (uid === undefined || uid === 0 || uid >= 65_534) return undefined;
  const listed = parseAccounts(await readFile("/etc/passwd", "utf8").catch(() => ""));
  const taken = [...listed, ...(await getent(String(uid)))].some((account) => account.uid === uid);
  return taken ? undefined : uid;
}

/** Several servers may do this at once; one of them creates the user, and the others find it. */
async function makeUser(log: Logger, uid: number | undefined): Promise<Account> {
  const lockFile = await open(LOCK_FILE, "a", 0o600).catch((error) => {
    throw cannotMake([error.message]);
  });
  await lockFile.close();
  for (let attempt = 1; ; attempt++) {
    const failures: string[] = [];
    for (const [program, ...args] of waysToMake(uid)) {
      const failure = await failureOf(program, args);
      const made = await findUser();
      if (made !== undefined) {
        if (failure === undefined) log.info({ user: NAME, uid: made.uid }, "created a user for PostgreSQL");
        return made;
      }
      if (failure !== undefined) failures.push(failure);
    }
    if (attempt === ATTEMPTS || !failures.some((text) => /\block/i.test(text))) throw cannotMake(failures);
    await sleep(PAUSE_MS);
  }
}

function waysToMake(uid: number | undefined): [program: string, ...args: string[]][] {
  const [useradd, ...args] = USERADD.split(" ") as [string, ...string[]];
  const number = uid === undefined ? [] : [String(uid)];
  const long = number.flatMap((value) => ["--uid", value]);
  const short = number.flatMap((value) => ["-u", value]);
  return [
    [useradd, ...args, ...long, "--user-group", NAME],
    // The group is left from an earlier user.
    [useradd, ...args, ...long, "--gid", NAME, NAME],
    // BusyBox.
    ["adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/sbin/nologin", ...short, NAME],
  ];
}

/** @returns what the program said when it failed; undefined on success */
async function failureOf(program: string, args: string[]): Promise<string | undefined> {
  try {
    await run("flock", [LOCK_FILE, program, ...args], options()).catch((error) => {
      if (error.code !== "ENOENT") throw error;
      return run(program, args, options());
    });
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    const missing = code === "ENOENT" || /failed to execute/.test(stderr ?? "");
    return missing ? `${program} is not installed` : `${stderr || error}`.trim();
  }
}

function options() {
  const env: Record<string, string> = {
    PATH: `/usr/sbin:/sbin:/usr/bin:/bin:${process.env.PATH ?? ""}`,
    LC_ALL: "C",
  };
  return { timeout: PROGRAM_LIMIT_MS, env: env as NodeJS.ProcessEnv };
}

function cannotMake(failures: string[]): PlimsollError {
  return new PlimsollError(
    "root_unsupported",
    `As root, Plimsoll runs PostgreSQL as the user ${NAME}, and could not create that user: ${failures[0]?.replace(/\.$/, "")}.`,
    {
      details: { failures },
      hint: `${AS_ORDINARY_USER}, or create the user: ${USERADD} ${NAME}`,
    },
  );
}
