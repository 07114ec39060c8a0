import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BridgeTarget } from "./harness-bridge.ts";
import { hasHook, withHook, withoutHook } from "./hook.ts";
import { stateFolder } from "./journal.ts";
import { readSettingsFile, replaceSettingsFile } from "./settings-file.ts";

/** This file is in a folder of `src`, or bundled into `dist`. */
const [SCRIPT = process.argv[1]!] = ["../bin", "../../bin"]
  .map((folder) => join(import.meta.dirname, folder, "plimsoll.js"))
  .filter((path) => existsSync(path));

/** How this program is started again, wherever and however it was started. */
export const PROGRAM = [process.execPath, SCRIPT];

/**
 * Adds the hook to the settings file.
 * @returns whether it was not there
 * @throws {SettingsFileError} or {UnreadableSettings}
 */
export async function installHook(target: BridgeTarget, program = PROGRAM): Promise<boolean> {
  const { file, folder } = await fileOf(target);
  if (hasHook(file.text, folder)) return false;
  await replaceSettingsFile(file, withHook(file.text ?? "", program, folder));
  return true;
}

/** @returns whether it was there */
export async function removeHook(target: BridgeTarget): Promise<boolean> {
  if (!target.adapter.hook) return false;
  const { file, folder } = await fileOf(target);
  if (file.text === undefined || !hasHook(file.text, folder)) return false;
  await replaceSettingsFile(file, withoutHook(file.text, folder));
  return true;
}

async function fileOf({ adapter, path, home }: BridgeTarget) {
  const file = await readSettingsFile(path);
  return { file, folder: stateFolder(home, adapter.family, file.realPath) };
}
