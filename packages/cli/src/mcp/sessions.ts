import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import type { Places } from "@plimsoll/harnesses/bridge";
import { type CallingFamily, toldSession } from "@plimsoll/harnesses/callers";
import { type AgentContents, fileThread } from "@plimsoll/harnesses/recordings";
import { OpenFiles } from "../import/followed-file.ts";
import { agentLevels, type RecordedAgentLevel, withEarlierFalls } from "./agent-levels.ts";
import type { Binding, CallRefusal } from "./bind-caller.ts";
import { type Caller, findCaller, type GivenMark } from "./find-caller.ts";
import { type RecordedSession, SessionReading } from "./recorded-session.ts";
import { ToldSessions } from "./told-sessions.ts";

/** The session that a call is from, as its recording has it now. */
export interface BoundSession {
  session: string;
  family: CallingFamily;
  /** The agent that calls. */
  agent: string;
  by: Binding;
  levels: readonly RecordedAgentLevel[];
  /** What the window of each agent holds. Takes time that grows with the session. */
  contents(): readonly AgentContents[];
}

export type BoundOrRefused = BoundSession | { refused: CallRefusal; mark?: string };

export interface CallingSessionsOptions {
  places: Places;
  /** The session that a person named. */
  argument: string | undefined;
  now: () => number;
  patienceMs?: number;
}

/** Sessions whose recordings stay in memory. A server is of one process of a harness, which seldom has more. */
const MOST_HELD = 4;

/** The sessions that called this server. */
export class Sessions {
  readonly #options: CallingSessionsOptions;
  readonly #open = new OpenFiles(64);
  readonly #told = new ToldSessions();
  /** By path of the recording, the latest last. */
  readonly #held = new Map<string, SessionReading>();
  /** Sessions that called, by id, which may be read as resources. */
  readonly #called = new Map<string, Caller>();
  /** Of the session that called last. */
  #wholeLevels: { of: RecordedSession; levels: RecordedAgentLevel[] } | undefined;
  #mark: GivenMark | undefined;

  constructor(options: CallingSessionsOptions) {
    this.#options = options;
  }

  /** @param meta `_meta` of the call */
  async caller(meta: unknown): Promise<BoundOrRefused> {
    const { places, argument, now, patienceMs } = this.#options;
    const told = toldSession(meta);
    if (told !== undefined)
      return argument === undefined || argument === told.session
        ? this.#told.look(told)
        : { refused: "other_session" };
    const known = [...this.#held.keys()];
    const patience = patienceMs === undefined ? {} : { patienceMs };
    const found = await findCaller({ meta, argument, mark: this.#mark, known, places, now, ...patience });
    if ("refused" in found)
      return found.refused === "call_again" ? { ...found, mark: this.#newMark() } : found;
    const bound = await this.#read(found);
    if (bound === undefined) return { refused: "not_recorded" };
    this.#called.set(bound.session, found);
    return bound;
  }

  /** Ids of the sessions that called this server. */
  called(): string[] {
    return [...this.#called.keys()];
  }

  /** A session that called this server; undefined if it did not. */
  async ofId(session: string): Promise<BoundSession | undefined> {
    const caller = this.#called.get(session);
    return caller && this.#read({ ...caller, agent: "main" });
  }

  async close(): Promise<void> {
    await this.#open.closeAll();
  }

  /** A mark for the answer to a call that nothing else ties to a session. */
  nextMark({ by }: Pick<BoundSession, "by">): string | undefined {
    return by === "mark" ? this.#newMark() : undefined;
  }

  #newMark(): string {
    this.#mark = { text: `mark-${randomBytes(8).toString("hex")}`, at: this.#options.now() };
    return this.#mark.text;
  }

  async #read({ family, recording, agent, by }: Caller): Promise<BoundSession | undefined> {
    let reading = this.#held.get(recording);
    if (reading === undefined) reading = new SessionReading(family, recording, this.#open);
    this.#held.delete(recording);
    this.#held.set(recording, reading);
    const [oldest] = this.#held;
    if (this.#held.size > MOST_HELD && oldest !== undefined) {
      this.#held.delete(oldest[0]);
      await oldest[1].close();
    }
    const recorded = await reading.look();
    if (recorded === undefined) return undefined;
    const followed = reading;
    const whole = followed.whole();
    if (this.#wholeLevels?.of !== whole)
      this.#wholeLevels = whole && { of: whole, levels: agentLevels(whole) };
    const levels = withEarlierFalls(agentLevels(recorded), this.#wholeLevels?.levels ?? []);
    const thread = fileThread(basename(recording));
    const own =
      family === "codex"
        ? (recorded.events.find((event) => "own_session" in event && event.own_session === thread)?.agent ??
          agent)
        : agent;
    const contents = () => followed.whole(true)?.contents ?? [];
    return { session: recorded.session, family, agent: own, by, levels, contents };
  }
}
