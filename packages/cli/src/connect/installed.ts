import { readFile, realpath, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import type { HarnessAdapter, Places } from "@plimsoll/harnesses/bridge";
import { isInstalled } from "../bridge/harness-bridge.ts";

/** Whether a harness is on this machine, and its version if its files name it. Runs nothing. */
export async function installation(
  adapter: HarnessAdapter,
  places: Places,
): Promise<{ version: string | undefined } | undefined> {
  for (const name of adapter.programs) {
    const path = await programOnPath(name, places);
    if (path !== undefined) return { version: await versionOf(path) };
  }
  return (await isInstalled(adapter, places)) ? { version: undefined } : undefined;
}

async function programOnPath(name: string, { env, platform }: Places): Promise<string | undefined> {
  const names = platform === "win32" ? [`${name}.cmd`, `${name}.exe`] : [name];
  for (const folder of (env.PATH ?? "").split(delimiter).filter(Boolean)) {
    for (const file of names) {
      const path = await realpath(join(folder, file)).catch(() => undefined);
      if (path !== undefined && (await stat(path)).isFile()) return path;
    }
  }
  return undefined;
}

/** The version in the package of a program, or in its path, as native installers have it. */
async function versionOf(path: string): Promise<string | undefined> {
  const inPath = /[/\\]versions?[/\\](\d+\.\d+\.\d+)/.exec(path)?.[1];
  if (inPath !== undefined) return inPath;
  for (
    let folder = dirname(path);
    folder !== dirname(folder) && /node_modules/.test(folder);
    folder = dirname(folder)
  ) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    try {
      const { version } = JSON.parse(text) as { version?: unknown };
      return typeof version === "string" ? version : undefined;
    } catch {
      return undefined;
    }
  }
  return undefined;
}
