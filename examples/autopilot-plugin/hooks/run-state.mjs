import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where the state of the run in a folder is. */
export const statePath = (folder) => join(folder, ".autopilot", "state.json");

/** The folder of the session. The current folder is another one after a `cd`. */
export const projectOf = (current) => process.env.CLAUDE_PROJECT_DIR || current;

/** The state of the run in a folder; undefined if there is none, or if it cannot be read. */
export function readState(folder) {
  if (!existsSync(statePath(folder))) return undefined;
  try {
    return JSON.parse(readFileSync(statePath(folder), "utf8"));
  } catch {
    return undefined;
  }
}

/** The input of a hook, from standard input. */
export async function hookInput() {
  let text = "";
  for await (const chunk of process.stdin) text += chunk;
  return JSON.parse(text);
}
