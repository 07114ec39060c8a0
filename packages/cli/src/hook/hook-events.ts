import { CONNECTABLE_HARNESSES } from "@plimsoll/harnesses/connect";
import { textAt } from "@plimsoll/harnesses/fields";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";

/** An event of a hook, before the harness instance is known. */
export type HookEvent = WithoutHarness<PlimsollEventInput>;
type WithoutHarness<Event> = Event extends { type: "compacted" | "cleared" | "reinjected" | "session" }
  ? Omit<Event, "harness">
  : never;

/** What a hook leaves to the process that reports it. */
export interface HookReport {
  events: readonly HookEvent[];
  /** The folder of the session, of which only the repository may be sent. */
  folder: string | undefined;
}

/** Longest names that the protocol takes, in characters. */
const LONGEST = { session: 256, agent: 128, reason: 500 };

/**
 * What a hook proves: that a context was compacted or cleared, or that a session ended. A hook that runs before the fact, such as
 * PreCompact, proves nothing. Hooks have no levels; the server takes them from the turns around.
 * @param family of the harness
 * @param input JSON of the hook
 * @param now epoch ms
 * @param exists whether there is a file
 */
export function hookEvents(
  family: string,
  input: unknown,
  now: number,
  exists: (path: string) => boolean,
): HookEvent[] {
  const session = textAt(input, ["session_id"]);
  if (session === undefined || session.length > LONGEST.session) return [];
  const fields = { at: now, session, ...agentOf(family, input) };
  switch (textAt(input, ["hook_event_name"])) {
    case "PostCompact": {
      const trigger = textAt(input, ["trigger"]) === "manual" ? "manual" : "auto";
      return [{ ...fields, type: "compacted", id: `hook/compacted/${now}`, trigger }];
    }
    case "SessionEnd":
      return hasTurns(input, exists) ? ended(fields, textAt(input, ["reason"])) : [];
    default:
      return [];
  }
}

/** Whether a harness says that a session starts. */
export const startsSession = (input: unknown): boolean =>
  textAt(input, ["hook_event_name"]) === "SessionStart";

/** The session whose main agent goes on after a compaction, which is when the harness takes texts for it. */
export function compactedSession(input: unknown): string | undefined {
  const isCompacted = startsSession(input) && textAt(input, ["source"]) === "compact";
  return isCompacted && textAt(input, ["agent_id"]) === undefined ? textAt(input, ["session_id"]) : undefined;
}

/** A session that was opened and left has no transcript, and would be an empty row. */
function hasTurns(input: unknown, exists: (path: string) => boolean): boolean {
  const transcript = textAt(input, ["transcript_path"]);
  return transcript === undefined || exists(transcript);
}

type OwnFields = Pick<HookEvent, "at" | "session">;

/** A cleared conversation goes on under another id, so a session is cleared once: another hook of it has the same id. */
function ended(fields: OwnFields, reason: string | undefined): HookEvent[] {
  const end: HookEvent = {
    ...fields,
    type: "session",
    status: "ended",
    id: `hook/ended/${fields.at}`,
    ...(reason !== undefined && { reason: reason.slice(0, LONGEST.reason) }),
  };
  if (reason !== "clear") return [end];
  return [{ ...fields, type: "cleared", id: "hook/cleared", reason: "clear" }, end];
}

/** Sub-agents have the names that they have in telemetry and transcripts. */
function agentOf(family: string, input: unknown): Pick<HookEvent, "agent" | "parent_agent" | "own_session"> {
  const id = textAt(input, ["agent_id"]);
  if (id === undefined) return {};
  const agent = `agent-${id}`.slice(0, LONGEST.agent);
  const harness = CONNECTABLE_HARNESSES.find((one) => one.family === family);
  return { agent, parent_agent: "main", ...(harness?.agentsAreSessions && { own_session: id }) };
}
