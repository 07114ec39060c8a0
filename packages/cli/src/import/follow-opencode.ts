import {
  asObject,
  asText,
  type HarnessReader,
  type JsonObject,
  parseObject,
} from "@plimsoll/harnesses/recordings";
import type { Connection } from "../connection.ts";
import { followLive } from "../live-stream.ts";
import { sleep } from "../sleep.ts";
import { type ImportOptions, readerFor } from "./import.ts";
import { listSessions, type OpencodeServer, readMessages, readWindows } from "./opencode-server.ts";
import { Outbox, type OutboxOptions } from "./outbox.ts";

export interface OpencodeFollowOptions extends ImportOptions, OutboxOptions {
  now: () => number;
  /** Called each time the stream is open and what was missed is read. */
  onRead?: (sessions: number) => void;
  /** Time until the messages are read again after the server refused them, ms. */
  retryMs?: number;
}

/** Sessions that did not change for this long before the start are left for `plimsoll import`. */
const HISTORY_MS = 24 * 3_600_000;
const RETRY_MS = 5_000;
/** Events about sessions and messages. Most others are parts of an answer. */
const CHANGES = /"(?:session\.(?:created|updated)|message\.updated|compaction)"/;
/** Clocks differ, and a message may have been under way when the stream broke. */
const OVERLAP_MS = 10 * 60_000;

/**
 * Follows the events of a server of opencode or Kilo until the signal aborts. Whenever the stream opens, it reads the messages of
 * the sessions that changed meanwhile. A message that was read before has the same id, so nothing counts twice.
 * @throws CliError if Plimsoll refuses the events for good
 */
export async function followOpencode(
  server: OpencodeServer,
  connection: Connection,
  options: OpencodeFollowOptions,
): Promise<void> {
  const reader = readerFor("opencode", options);
  const outbox = new Outbox();
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  let windows: ReadonlyMap<string, number> = new Map();
  let since = options.now() - HISTORY_MS;
  let failure: unknown;
  let sending = Promise.resolve();
  /** Events of an open stream until what was missed is read: only then is it known which sessions are sub-agents. */
  let waiting: string[] | undefined;
  let streams = 0;

  await followLive(server.open, signal, {
    onOpen: () => void begin(),
    onClose: () => {
      streams += 1;
      if (!signal.aborted) trouble(new Error("The stream of events is closed."));
    },
    onMessages(messages) {
      if (waiting === undefined) readEvents(messages);
      else waiting.push(...messages.filter((message) => CHANGES.test(message)));
    },
  });
  await sending;
  if (failure !== undefined) throw failure;

  async function begin(): Promise<void> {
    const own = streams;
    waiting = [];
    while (own === streams && !signal.aborted) {
      try {
        await catchUp();
        break;
      } catch (error) {
        trouble(error);
        await sleep(options.retryMs ?? RETRY_MS, signal);
      }
    }
    if (own !== streams) return;
    const missed = waiting;
    waiting = undefined;
    readEvents(missed);
  }

  function readEvents(messages: readonly string[]): void {
    for (const message of messages) readEvent(message);
    send();
  }

  async function catchUp(): Promise<void> {
    const from = since;
    const startedAt = options.now();
    windows = await readWindows(server).catch(() => windows);
    const sessions = await listSessions(server);
    for (const { info } of sessions) read("session", info);
    const changed = sessions.filter(({ updatedAt }) => updatedAt >= from);
    for (const { id } of changed) {
      if (signal.aborted) return;
      const { infos, parts } = await readMessages(server, id);
      for (const part of parts) read("part", part);
      for (const info of infos) read("message", info);
    }
    since = startedAt - OVERLAP_MS;
    send();
    options.onRead?.(changed.length);
  }

  function readEvent(message: string): void {
    const json = parseObject(message);
    // The stream of all folders wraps each event; that of one folder does not.
    const event = asObject(json?.payload) ?? json;
    const properties = asObject(event?.properties) ?? {};
    switch (asText(event?.type)) {
      case "session.created":
      case "session.updated":
        read("session", asObject(properties.info));
        break;
      case "message.updated": {
        const info = asObject(properties.info);
        // The counts come a moment before the time at which the message was complete.
        if (asObject(info?.time)?.completed !== undefined) read("message", info);
        break;
      }
      case "message.part.updated":
        read("part", asObject(properties.part));
        break;
    }
  }

  function read(table: "session" | "message" | "part", row: JsonObject | undefined): void {
    if (row === undefined || (table === "part" && row.type !== "compaction")) return;
    readRow(reader, table, row, windows.get(`${asText(row.providerID)}/${asText(row.modelID)}`));
  }

  function send(): void {
    const { events } = reader.take(false);
    if (events.length === 0) return;
    outbox.offer(events);
    sending = sending
      .then(() => (signal.aborted ? undefined : outbox.send(connection, { ...options, signal })))
      .catch((error: unknown) => {
        if (options.signal.aborted) return;
        failure ??= error;
        failed.abort();
      });
  }

  function trouble(error: unknown): void {
    if (!signal.aborted) options.onTrouble?.(error instanceof Error ? error.message : String(error));
  }
}

function readRow(
  reader: HarnessReader,
  table: string,
  row: JsonObject,
  contextLimit: number | undefined,
): void {
  reader.read(JSON.stringify({ ...row, table }), {
    path: "",
    ...(contextLimit !== undefined && { contextLimit }),
  });
}
