import type { ToldSession } from "@plimsoll/harnesses/callers";
import type { HarnessReader } from "@plimsoll/harnesses/recordings";
import { readerFor } from "../import/import.ts";
import { agentLevels } from "./agent-levels.ts";
import type { CallRefusal } from "./bind-caller.ts";
import { type RecordedSession, sessionOf } from "./recorded-session.ts";
import type { BoundSession } from "./sessions.ts";

/** Sessions that are held. A process of opencode may run many, of which each sub-agent is one. */
const MOST_HELD = 32;

/** Sessions of opencode, whose plugin tells their messages with each call, because no file has them. */
export class ToldSessions {
  /** By id, the latest last. */
  readonly #held = new Map<string, { reader: HarnessReader; recorded: RecordedSession | undefined }>();

  look({ session, rows, isWhole }: ToldSession): BoundSession | { refused: CallRefusal } {
    const held = this.#held.get(session);
    // The plugin then tells everything.
    if (held === undefined && !isWhole) return { refused: "call_again" };
    const reader = held?.reader ?? readerFor("opencode", { titles: false });
    for (const row of rows) reader.read(row, { path: "" });
    const recorded = sessionOf(reader) ?? held?.recorded;
    this.#held.delete(session);
    this.#held.set(session, { reader, recorded });
    const [oldest] = this.#held.keys();
    if (this.#held.size > MOST_HELD) this.#held.delete(oldest!);
    const own = recorded && agentOf(recorded, session);
    if (recorded === undefined || own === undefined) return { refused: "not_counted" };
    const levels = agentLevels(recorded).filter(({ agent }) => agent === own);
    const contents = () => recorded.contents;
    return { session: recorded.session, family: "opencode", agent: own, by: "session", levels, contents };
  }
}

/** The agent whose session it is. What the plugin tells of any other one is left out. */
function agentOf({ events, session: root }: RecordedSession, session: string): string | undefined {
  if (root === session) return "main";
  const own = events.find((event) => "own_session" in event && event.own_session === session);
  return own !== undefined && "agent" in own ? own.agent : undefined;
}
