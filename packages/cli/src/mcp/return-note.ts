import { type Env, homeFolder } from "../home-folder.ts";
import type { HookEvent } from "../hook/hook-events.ts";
import { takeNote } from "./note-file.ts";

/**
 * Gives the note of a session back to its agent, as the output of a hook. Prints nothing if there is none.
 * @returns the event of it
 */
export async function returnNote(
  session: string,
  env: Env,
  now: number,
  write: (text: string) => void,
): Promise<HookEvent | undefined> {
  const kept = await takeNote(homeFolder(env), session);
  if (kept === undefined) return undefined;
  const minutes = Math.max(0, Math.round((now - kept.at) / 60_000));
  const additionalContext = `[Your own checkpoint, which you saved ${minutes} min before the context was compacted:]\n${kept.note}`;
  write(JSON.stringify({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext } }));
  const id = `hook/reinjected/${now}`;
  return { id, type: "reinjected", at: now, session, checkpoint: true, tokens: kept.tokens };
}
