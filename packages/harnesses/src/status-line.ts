import type { Usage } from "@plimsoll/protocol/pure";
import { claudeCodeStatusLine } from "./claude-code/status-line.ts";
import { copilotStatusLine } from "./copilot/status-line.ts";
import { numberAt, textAt } from "./fields.ts";
import type { QuotaReading } from "./quota.ts";
import type { FamilyWith } from "./registry.ts";

/** The JSON that a harness passes to the command of its status line. */
export interface StatusSample {
  family: FamilyWith<"statusLine">;
  session: string;
  model: string | undefined;
  /** Context tokens of the latest call; undefined before the first one and after a compaction. */
  tokens: number | undefined;
  /** Size of the window in tokens. */
  windowTokens: number | undefined;
  /** Cost of the session in US dollars. */
  costUsd: number | undefined;
  /** Counts of the latest call. */
  usage: Usage | undefined;
  /** The recording of the session. */
  transcript: string | undefined;
  /** The folder that the session works in. */
  project: string | undefined;
  quotas: readonly QuotaReading[];
}

/** How a family writes its level into that JSON. */
export interface StatusLine {
  /** Undefined if the JSON is that of another family. */
  level(value: unknown): Pick<StatusSample, "tokens" | "windowTokens" | "usage"> | undefined;
  /** The limits of the account, where it has them. */
  quotas?(value: unknown): QuotaReading[];
}

/** The last one reads what no other recognizes. */
const STATUS_LINES: { readonly [Family in FamilyWith<"statusLine">]: StatusLine } = {
  copilot: copilotStatusLine,
  "claude-code": claudeCodeStatusLine,
};

/**
 * Reads the JSON that a harness writes to its status line.
 * @returns undefined if it names no session
 */
export function readStatus(value: unknown): StatusSample | undefined {
  const session = textAt(value, ["session_id"]) ?? textAt(value, ["sessionId"]);
  if (session === undefined) return undefined;
  for (const [family, line] of Object.entries(STATUS_LINES)) {
    const level = line.level(value);
    if (level === undefined) continue;
    return {
      ...level,
      family: family as StatusSample["family"],
      session,
      model: textAt(value, ["model", "id"]),
      costUsd: numberAt(value, ["cost", "total_cost_usd"]),
      transcript: textAt(value, ["transcript_path"]),
      project: projectOf(value),
      quotas: line.quotas?.(value) ?? [],
    };
  }
  return undefined;
}

/** The folder that the session works in. */
export const projectOf = (value: unknown) =>
  textAt(value, ["workspace", "project_dir"]) ?? textAt(value, ["cwd"]);
