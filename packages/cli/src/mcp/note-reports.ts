import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileSpool } from "@plimsoll/guard/node";
import { createReporter, type Reporter, type SendTarget } from "@plimsoll/guard/report";
import type { AgentLevel, KnownLine } from "@plimsoll/harnesses/agent-tools";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { Connection } from "../connection.ts";
import { request } from "../request.ts";
import type { Checkpoint } from "./note-file.ts";
import type { BoundSession } from "./sessions.ts";

type SendRequest = Parameters<SendTarget["fetch"]>[1];

/** The event of a note: its size, and where the agent was. Nothing of its text. */
export function checkpointEvent(
  { family }: Pick<BoundSession, "family">,
  { session, at, note, tokens }: Checkpoint,
  { level }: Pick<AgentLevel, "level">,
  line: KnownLine,
  machine: string,
): PlimsollEventInput {
  return {
    ...{ id: `checkpoint/${at}`, type: "checkpoint", at, session, machine, harness: `${family}@${machine}` },
    ...{ characters: [...note].length, tokens, context_tokens: level, line_tokens: line.tokens },
  };
}

/** Longest wait for the server when the harness ends, ms. */
const LAST_WAIT_MS = 1_000;

/** Reports notes. While the server is away, the reports wait on disk for a later process on this machine. */
export class NoteReports {
  readonly #connect: () => Promise<Connection>;
  readonly #home: string;
  #reporter: Promise<Reporter | undefined> | undefined;

  /** @param home data folder of Plimsoll */
  constructor(connect: () => Promise<Connection>, home: string) {
    this.#connect = connect;
    this.#home = home;
  }

  /** Does not wait for the server, and throws nothing. Without a key there is nothing to report to. */
  async add(event: PlimsollEventInput): Promise<void> {
    this.#reporter ??= this.#start().catch(() => undefined);
    const reporter = await this.#reporter;
    // The next note finds a login that was made meanwhile.
    if (reporter === undefined) this.#reporter = undefined;
    else reporter.record(event);
  }

  async close(): Promise<void> {
    await (await this.#reporter)?.close(LAST_WAIT_MS);
  }

  async #start(): Promise<Reporter | undefined> {
    const connection = await this.#connect();
    const { url, token, ingestKey, project } = connection;
    if (token === undefined) return undefined;
    const sender = ingestKey === undefined ? connection : { ...connection, token: ingestKey };
    // Another server or project must not get what waits for this one.
    const target = createHash("sha256")
      .update(JSON.stringify([url, project]))
      .digest("hex")
      .slice(0, 12);
    return createReporter({
      url,
      fetch: (to, init) => request(sender, String(to).slice(url.length), init as SendRequest),
      spool: fileSpool(join(this.#home, "mcp", target)),
    });
  }
}
