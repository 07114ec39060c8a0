import { join } from "node:path";
import { at, countAt, textAt } from "../fields.ts";
import { windowOf } from "./status-line.ts";

/** A sub-agent in the panel of Claude Code. */
export interface SubagentSample {
  /** Of the row, which is the id of the agent. */
  id: string;
  session: string;
  /** The agent that started it; undefined for the main one. */
  parent: string | undefined;
  /** Context tokens of its latest call; undefined before the first one. */
  tokens: number | undefined;
  /** Size of its window in tokens. */
  windowTokens: number | undefined;
  /** Its recording. */
  transcript: string | undefined;
}

/** Ids that are part of a path. */
const PLAIN_ID = /^[\w-]{1,100}$/;

/**
 * Reads the JSON that Claude Code writes to `subagentStatusLine`: one task a sub-agent.
 * @returns undefined if it has no tasks or names no session
 */
export function readSubagents(value: unknown): SubagentSample[] | undefined {
  const session = textAt(value, ["session_id"]);
  const tasks = at(value, ["tasks"]);
  if (session === undefined || !Array.isArray(tasks)) return undefined;
  const folder = textAt(value, ["transcript_path"])?.replace(/\.jsonl$/, "");
  return tasks.flatMap((task: unknown): SubagentSample[] => {
    const id = textAt(task, ["id"]);
    if (id === undefined) return [];
    const parent = textAt(task, ["parentId"]);
    return [
      {
        id,
        session,
        parent: parent !== undefined && PLAIN_ID.test(parent) ? parent : undefined,
        tokens: countAt(task, ["tokenCount"]) || undefined,
        windowTokens: windowOf(textAt(task, ["model"]), countAt(task, ["contextWindowSize"])),
        transcript:
          folder === undefined || !PLAIN_ID.test(id)
            ? undefined
            : join(folder, "subagents", `agent-${id}.jsonl`),
      },
    ];
  });
}
