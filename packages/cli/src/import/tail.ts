import type { PlimsollEventInput } from "@plimsoll/protocol";
import type { Connection } from "../connection.ts";
import type { Format, HarnessReader } from "../readers/reader.ts";
import { sleep } from "../sleep.ts";
import { FollowedFile } from "./followed-file.ts";
import type { ImportOptions } from "./import.ts";
import { inOrder, readerFor } from "./import.ts";
import type { ImportGroup } from "./plan.ts";
import { planImport } from "./plan.ts";
import type { SendOptions, SendTotals } from "./send.ts";
import { addTotals, batches, emptyTotals, sendBatch } from "./send.ts";
import { importedEnds } from "./session-ends.ts";

const POLL_MS = 500;
/** Scanning folders for new files costs more than polling known files, so it happens less often. */
const SCAN_MS = 2_000;
/** A session without events for this long is ended. It continues when new lines arrive. */
const HISTORY_MS = 30 * 60_000;

export interface TailOptions extends ImportOptions {
  contextLimit?: number | undefined;
  signal: AbortSignal;
  pollMs?: number;
  scanMs?: number;
  now: () => number;
  send?: SendOptions;
  /** Called once, after the first scan. */
  onBegun?: () => void;
  onSent?: (totals: SendTotals) => void;
  onTrouble?: (message: string) => void;
}

interface Followed {
  group: ImportGroup;
  reader: HarnessReader;
  files: Map<string, FollowedFile>;
}

/**
 * Imports recordings and follows them until the signal aborts. No state is kept between runs: the next run reads all
 * files again, and the server recognizes known events by their ids.
 */
export async function tail(
  paths: readonly string[],
  connection: Connection,
  options: TailOptions,
): Promise<void> {
  const groups = new Map<string, Followed>();
  const outbox = new Outbox();
  const formats = new Map<string, Format>();
  let scannedAt = Number.NEGATIVE_INFINITY;
  while (!options.signal.aborted) {
    if (options.now() - scannedAt >= (options.scanMs ?? SCAN_MS)) {
      const plan = await planImport(paths, {
        contextLimit: options.contextLimit,
        formats,
        mayBeMissing: formats.size > 0,
      });
      for (const group of plan.groups) follow(groups, group, options);
      if (scannedAt === Number.NEGATIVE_INFINITY) options.onBegun?.();
      scannedAt = options.now();
    }
    for (const followed of groups.values()) await readNew(followed, outbox, options.now());
    try {
      await outbox.send(connection, options);
    } catch (error) {
      if (options.signal.aborted) return;
      throw error;
    }
    await sleep(options.pollMs ?? POLL_MS, options.signal);
  }
}

function follow(groups: Map<string, Followed>, group: ImportGroup, options: TailOptions): void {
  const followed = groups.get(group.key) ?? {
    group,
    reader: readerFor(group.format, options),
    files: new Map<string, FollowedFile>(),
  };
  groups.set(group.key, followed);
  followed.group = group;
  for (const file of group.files) {
    if (!followed.files.has(file.path)) followed.files.set(file.path, new FollowedFile(file.location));
  }
}

async function readNew({ group, reader, files }: Followed, outbox: Outbox, now: number): Promise<void> {
  let read = false;
  for (const file of group.files) {
    for (const line of (await files.get(file.path)!.poll()) ?? []) {
      reader.read(line, file);
      read = true;
    }
  }
  if (!read) return;
  const { events } = reader.take(false);
  outbox.offer([...events, ...importedEnds(events, now - HISTORY_MS)]);
}

/** Holds new and changed events until the server has stored them. */
class Outbox {
  readonly #stored = new Map<string, string>();
  #waiting = new Map<string, { event: PlimsollEventInput; text: string }>();

  offer(events: readonly PlimsollEventInput[]): void {
    for (const event of events) {
      const key = JSON.stringify([event.session, event.agent, event.id]);
      const text = JSON.stringify(event);
      if (this.#stored.get(key) !== text) this.#waiting.set(key, { event, text });
    }
  }

  async send(connection: Connection, options: TailOptions): Promise<void> {
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting].sort(
      ([, a], [, b]) => (a.event.at as number) - (b.event.at as number),
    );
    const totals = emptyTotals();
    for (const batch of batches(waiting)) {
      if (options.signal.aborted) return;
      const events = inOrder(batch.map(([, { event }]) => event));
      addTotals(
        totals,
        await sendBatch(connection, events, {
          ...options.send,
          // Retry without limit: only an error that a retry cannot fix ends tail.
          patienceMs: Number.POSITIVE_INFINITY,
          onWait: (_, why) => options.onTrouble?.(why),
          signal: options.signal,
        }),
      );
      for (const [key, { text }] of batch) {
        this.#stored.set(key, text);
        this.#waiting.delete(key);
      }
    }
    options.onSent?.(totals);
  }
}
