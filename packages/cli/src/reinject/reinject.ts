import { createHash } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import {
  RULE_LINES,
  type StandingRules,
  standingRules,
} from "@plimsoll/harnesses/claude-code/standing-rules";
import { textAt } from "@plimsoll/harnesses/fields";
import { type Env, homeFolder } from "../home-folder.ts";
import type { HookEvent } from "../hook/hook-events.ts";
import { forgetOld, notesFolder, takeNote } from "../mcp/note-file.ts";
import { asksForRules } from "./followed-policy.ts";
import { matchingLines } from "./matching-lines.ts";
import { reinjectedText } from "./reinjected-text.ts";

/** What a hook that runs after a compaction has. */
export interface Compacted {
  family: string;
  session: string;
  /** JSON of the hook. */
  input: unknown;
}

/**
 * Puts back into the context of a main agent what a compaction dropped, as the output of a hook: its note, and if the policy asks for
 * it, rules. Of several hooks of one compaction, one does. Prints nothing if there is nothing.
 * @param now epoch ms
 * @returns the event of it, with counts alone
 */
export async function reinject(
  { family, session, input }: Compacted,
  env: Env,
  now: number,
  write: (text: string) => void,
): Promise<HookEvent | undefined> {
  const home = homeFolder(env);
  const isAsked = family === "claude-code" && (await asksForRules(home, family));
  const standing = isAsked ? rulesOf(input, env) : undefined;
  if (standing !== undefined && !(await isFirst(home, session, standing, now))) return undefined;
  const note = await takeNote(home, session);
  if (note === undefined && standing === undefined) return undefined;
  const { text, counts } = reinjectedText(note, standing, now);
  const output = { hookEventName: "SessionStart", additionalContext: text };
  if (text !== "") write(JSON.stringify({ hookSpecificOutput: output }));
  return { id: `hook/reinjected/${now}`, type: "reinjected", at: now, session, ...counts };
}

/** A recording that cannot be read must not keep the note back. */
function rulesOf(input: unknown, env: Env): StandingRules | undefined {
  const path = textAt(input, ["transcript_path"]) ?? "";
  const folder = env.CLAUDE_PROJECT_DIR || textAt(input, ["cwd"]);
  try {
    return folder === undefined ? undefined : standingRules(matchingLines(path, RULE_LINES), folder);
  } catch {
    return undefined;
  }
}

/** Both the plugin and a connection may have a hook. The latest line of the recording tells compactions apart. */
async function isFirst(
  home: string,
  session: string,
  { last = "" }: StandingRules,
  now: number,
): Promise<boolean> {
  const name = createHash("sha256")
    .update(JSON.stringify([session, last]))
    .digest("hex")
    .slice(0, 32);
  const folder = notesFolder(home);
  // Also fails with EEXIST, if the folder is a file.
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  try {
    await (await open(join(folder, `${name}.reinjected`), "wx", 0o600)).close();
    await forgetOld(folder, now);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "EEXIST";
  }
  return true;
}
