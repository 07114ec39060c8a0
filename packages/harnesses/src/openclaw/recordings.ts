import { holdPath, newSession, type PiSession, readPiEntry } from "../pi/recordings.ts";
import { historyReading, ownerByParents } from "../recordings/history.ts";
import { asText, asTime, parseObject } from "../recordings/json.ts";
import {
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";

export const openclawRecordings: Recordings = {
  place: "~/.openclaw/agents, or an openclaw-agent.sqlite",
  files: [/^openclaw-agent\.sqlite$/],
  recognizes: (json) =>
    (json.table === "session_windows" || json.table === "transcript_events") &&
    asText(json.session_id) !== undefined,
  showsSummaries: true,
  reader: openclawReader,
};

interface OpenclawSession extends PiSession {
  /** The session that spawned it, if it is a sub-agent. */
  parent: string | undefined;
}

/**
 * Reads sessions of OpenClaw, one row of an agent's database a line. A row of a transcript holds an entry as pi writes it. A session that
 * another one spawned is a sub-agent; one that another one forked begins with a copy of it.
 * Source: npm openclaw 2026.9.6, docs/reference/session-management-compaction and its SQL schema.
 */
function openclawReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, OpenclawSession>();

  return { read: (text) => skips.count(readRow(text)), ...historyReading(histories, options, skips) };

  function readRow(text: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const id = asText(json.session_id);
    if (id === undefined) return "no_session";
    const session = sessions.get(id) ?? { ...newSession(), parent: undefined };
    sessions.set(id, session);
    if (json.table !== "session_windows") {
      const entry = parseObject(asText(json.event) ?? "");
      return entry === undefined ? "unreadable" : readPiEntry(session, entry);
    }
    session.parent = asText(json.spawned_by_session) ?? session.parent;
    const at = asTime(json.created_at);
    const name = asText(json.label) ?? asText(json.display_name);
    if (at !== undefined && name !== undefined)
      session.history.addTitle(asText(json.label) === undefined ? "harness" : "person", at, name);
    return "not_needed";
  }

  function histories() {
    const parentOf = (id: string) => sessions.get(id)?.parent;
    return [...sessions].map(([id, session]) => {
      holdPath(session);
      const { history, forkedAt } = session;
      return [history, { ...ownerByParents(id, parentOf), forkedAt }] as const;
    });
  }
}
