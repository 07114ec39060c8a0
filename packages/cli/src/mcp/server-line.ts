import type { AgentLineSource, Beside } from "@plimsoll/harnesses/agent-tools";
import { SessionDetail, SessionPage } from "@plimsoll/protocol/api";
import { familyOf } from "@plimsoll/protocol/policy";
import type { Client } from "../client.ts";
import type { ServerLine } from "./agent-line.ts";
import type { BoundSession } from "./sessions.ts";

/** The client is created with the first question; undefined without a key. */
export type ConnectServer = () => Promise<Client | undefined>;

/** How old an answer of the server may be before it is asked again, ms, and before it is no longer believed. */
const FRESH_MS = 15_000;
const BELIEVED_MS = 10 * 60_000;
/** How far back a session is looked for, ms. */
const LOOK_BACK_MS = 30 * 86_400_000;
/** A default of the server says less than the settings on this machine. */
const SOURCES: Partial<Record<string, AgentLineSource>> = {
  acknowledged: "acknowledged",
  reported: "reported",
  policy: "policy",
};

interface Known {
  /** Of the last question and of the last answer, epoch ms. */
  askedAt: number;
  answeredAt: number | undefined;
  state: Beside["server"];
  lines: ReadonlyMap<string, ServerLine>;
}

/**
 * The lines that the server knows. No call waits for the server: it is asked beside, and the next call has its answer.
 */
export class ServerLines {
  readonly #connect: ConnectServer;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  #asking: Promise<void> = Promise.resolve();

  constructor(connect: ConnectServer, now: () => number) {
    this.#connect = connect;
    this.#now = now;
  }

  /** What was known at the latest answer. Asks the server again if that is long ago. */
  of({ session, family, agent }: Pick<BoundSession, "session" | "family" | "agent">): {
    line: ServerLine;
    server: Beside["server"];
  } {
    const now = this.#now();
    const known = this.#known.get(session);
    // A clock may be set back.
    if (known === undefined || Math.abs(now - known.askedAt) > FRESH_MS) {
      const next: Known = {
        lines: new Map(),
        answeredAt: undefined,
        state: "not_yet",
        ...known,
        askedAt: now,
      };
      this.#known.set(session, next);
      this.#asking = this.#ask(next, session, family);
    }
    const { lines, answeredAt, state } = this.#known.get(session)!;
    const isBelieved = answeredAt !== undefined && Math.abs(now - answeredAt) < BELIEVED_MS;
    return { line: isBelieved ? lines.get(agent) : undefined, server: state };
  }

  /** Resolves when the server has answered, or is away. */
  settled(): Promise<void> {
    return this.#asking;
  }

  async #ask(known: Known, session: string, family: string): Promise<void> {
    try {
      const client = await this.#connect();
      if (client === undefined) {
        known.state = "no_login";
        return;
      }
      const to = this.#now() + 60_000;
      const range = { from: iso(to - LOOK_BACK_MS), to: iso(to) };
      const { items } = await client.query("sessions.list", { ...range, q: session, limit: 50 }, SessionPage);
      const found = items.find((item) => item.session === session && familyOf(item.harness) === family);
      known.answeredAt = this.#now();
      known.state = found === undefined ? "not_yet" : "known";
      if (found === undefined) return;
      const { agents } = await client.query("sessions.get", { id: found.id }, SessionDetail);
      known.lines = new Map(
        agents.map(({ name, line }) => {
          const source = SOURCES[line?.source ?? ""];
          return [name, source && { tokens: line!.tokens, source }];
        }),
      );
    } catch {
      known.state = "away";
    }
  }
}

const iso = (at: number): string => new Date(at).toISOString();
