import type { ToldSession } from "@plimsoll/harnesses/callers";
import type { HarnessReader } from "@plimsoll/harnesses/recordings";
import { readerFor } from "../import/import.ts";
import { agentLevels, type RecordedAgentLevel, withEarlierFalls } from "./agent-levels.ts";
import type { CallRefusal } from "./bind-caller.ts";
import { type RecordedSession, sessionOf } from "./recorded-session.ts";
import type { BoundSession } from "./sessions.ts";

/** Sessions that are held. A process of opencode may run many, of which each sub-agent is one. */
const MOST_HELD = 8;

interface HeldSession {
  /** Has all that was told. */
  whole: HarnessReader;
  /** As of the call before. */
  levels: readonly RecordedAgentLevel[];
}

/**
 * Sessions of opencode, whose plugin tells their messages with each call, because no file has them. A call is answered from the latest ones,
 * which go back to those of the call before, so that it takes the same time however long the session is.
 */
export class ToldSessions {
  /** By id, the latest last. */
  readonly #held = new Map<string, HeldSession>();

  look({ session, rows, isWhole }: ToldSession): BoundSession | { refused: CallRefusal } {
    const held = this.#held.get(session);
    // The plugin then tells everything.
    if (held === undefined && !isWhole) return { refused: "call_again" };
    const whole = held?.whole ?? newReader();
    const latest = isWhole ? whole : newReader();
    for (const reader of new Set([whole, latest])) for (const row of rows) reader.read(row, { path: "" });
    const recorded = sessionOf(latest);
    const agent = recorded && agentOf(recorded, session);
    const levels =
      recorded === undefined
        ? []
        : withEarlierFalls(
            agentLevels(recorded).filter((level) => level.agent === agent),
            held?.levels ?? [],
          );
    this.#hold(session, { whole, levels: levels.length > 0 ? levels : (held?.levels ?? []) });
    if (recorded === undefined || agent === undefined) return { refused: "not_counted" };
    const contents = () => (whole.contents?.() ?? []).filter((one) => one.session === recorded.session);
    return { session: recorded.session, family: "opencode", agent, by: "session", levels, contents };
  }

  #hold(session: string, held: HeldSession): void {
    this.#held.delete(session);
    this.#held.set(session, held);
    const [oldest] = this.#held.keys();
    if (this.#held.size > MOST_HELD) this.#held.delete(oldest!);
  }
}

const newReader = () => readerFor("opencode", { titles: false });

/** The agent whose session it is. What the plugin tells of any other one is left out. */
function agentOf({ events, session: root }: RecordedSession, session: string): string | undefined {
  if (root === session) return "main";
  const own = events.find((event) => "own_session" in event && event.own_session === session);
  return own !== undefined && "agent" in own ? own.agent : undefined;
}
