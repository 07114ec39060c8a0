import type { SpawnSyncOptions, SpawnSyncReturns } from "node:child_process";
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["app", "components", "server", "packages", "examples", "e2e", "bench", "scripts"];
const cruiser = join(root, "node_modules/dependency-cruiser");

/** dependency-cruiser takes the TypeScript it finds first: give it the one with the parser it knows. */
function lendParser(): void {
  const parser = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  const link = join(cruiser, "node_modules", "typescript");
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) {
    if (readlinkSync(link) === parser) return;
    rmSync(link);
  }
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(parser, link, "junction");
}

/** Reads every import under a folder laid out like this repository, against the rules in .dependency-cruiser.cjs. */
export function cruise(
  folder: string,
  args: readonly string[],
  options: SpawnSyncOptions,
): SpawnSyncReturns<string | Buffer> {
  lendParser();
  return spawnSync(
    process.execPath,
    [
      join(cruiser, "bin/dependency-cruise.mjs"),
      "--config",
      join(root, ".dependency-cruiser.cjs"),
      ...FOLDERS.filter((name) => existsSync(join(folder, name))),
      ...args,
    ],
    { cwd: folder, ...options },
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exit(cruise(root, process.argv.slice(2), { stdio: "inherit" }).status ?? 1);
}
