import { familyOf } from "@plimsoll/protocol/pure";
import { at, textAt } from "./fields.ts";
import { asArray, asObject, parseObject } from "./recordings/json.ts";

/** What a call of an MCP tool says of its caller: its session, or the id that its recording gives the call. */
export interface CallProof {
  kind: "session" | "call";
  id: string;
}

/** How recordings of a family show which session called a tool of an MCP server. Seen with the harnesses in November 2026. */
export interface CallerFamily {
  /** What a call of the family says of its caller. `meta` is the `_meta` of the call, from a program that is not trusted. */
  proof?(meta: unknown): CallProof | undefined;
  /** Whether a line of a recording is the one that makes a call. */
  makesCall?(line: string, call: string): boolean;
  /** The session that a stdio server was started for, which is that of the call unless the person began another one. */
  startedBy?: string;
  /** What a line with the result of a tool contains. Absent where no file has the session, so that a call is proven by itself. */
  result?: string;
  /** Its agents share a connection to an HTTP server, so its headers cannot say which one calls. Neither does the call. */
  sharesHeaders?: true;
  /** Each agent has a recording of its own, in a folder with the name of its session. */
  subagents?: string;
}

/** By family. The session of a call is unknown where neither a proof nor a mark in a recording ties it to one. */
export const CALLERS = {
  "claude-code": {
    // Claude Code 2.1.329. The session in the environment is that of the start, so it is old after /clear.
    proof: (meta) => proofAt(meta, "call", ["claudecode/toolUseId"]),
    makesCall: (line, call) => {
      const content = asArray(asObject(parseObject(line)?.message)?.content).map(asObject);
      return content.some((block) => block?.type === "tool_use" && block.id === call);
    },
    startedBy: "CLAUDE_CODE_SESSION_ID",
    sharesHeaders: true,
    result: '"tool_result"',
    subagents: "subagents",
  },
  codex: {
    // Codex 0.171. A sub-agent is a thread of its own.
    proof: (meta) => proofAt(meta, "session", ["threadId"]) ?? proofAt(meta, "session", TURN_METADATA),
    result: '"function_call_output"',
  },
  // Gemini CLI 0.61 says nothing of the caller.
  "gemini-cli": { result: '"functionResponse"', sharesHeaders: true },
  // opencode 1.18 keeps all sessions in one database and says nothing of the caller. The plugin of Plimsoll does.
  opencode: { proof: (meta) => proofAt(meta, "session", [TOLD, "session"]) },
} satisfies Record<string, CallerFamily>;

export type CallingFamily = keyof typeof CALLERS;

/** What the plugin of opencode tells of the session of a call. */
export interface ToldSession {
  session: string;
  /** The messages of the session and their parts, as opencode stores them: JSON. */
  rows: readonly string[];
  /** False if they are only those since the call before. */
  isWhole: boolean;
}

/** @param meta `_meta` of a call */
export function toldSession(meta: unknown): ToldSession | undefined {
  const session = CALLERS.opencode.proof(meta)?.id;
  const rows = at(meta, [TOLD, "rows"]);
  if (session === undefined || !Array.isArray(rows)) return undefined;
  return {
    session,
    rows: rows.filter((row) => typeof row === "string"),
    isWhole: at(meta, [TOLD, "isWhole"]) === true,
  };
}

/** What a call says of its caller, and in the way of which family. */
export function callProof(meta: unknown): { family: CallingFamily; proof: CallProof } | undefined {
  for (const [family, caller] of Object.entries(CALLERS) as [CallingFamily, CallerFamily][]) {
    const proof = caller.proof?.(meta);
    if (proof !== undefined) return { family, proof };
  }
  return undefined;
}

/** Whether the headers of a harness instance or family stand for all agents of its session. */
export const sharesHeaders = (harness: string): boolean =>
  Object.entries<CallerFamily>(CALLERS).some(
    ([family, caller]) => family === familyOf(harness) && caller.sharesHeaders === true,
  );

const TOLD = "plimsoll/opencode";
const TURN_METADATA = ["x-codex-turn-metadata", "thread_id"];
/** Ids of calls and sessions have some 40 characters. */
const LONGEST_ID = 200;

function proofAt(meta: unknown, kind: CallProof["kind"], path: readonly string[]): CallProof | undefined {
  const id = textAt(meta, path);
  return id === undefined || id.length > LONGEST_ID || at(meta, path) !== id ? undefined : { kind, id };
}
