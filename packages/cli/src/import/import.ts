import {
  addSkips,
  append,
  createReader,
  type HarnessReader,
  mappedReader,
  type ReaderOptions,
  type SkipCounts,
  Skips,
  type SourceFormat,
} from "@plimsoll/harnesses/recordings";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { CompiledMapping } from "@plimsoll/protocol/mapping";
import type { Connection } from "../connection.ts";
import { machineOf } from "../origin/machine.ts";
import type { ImportedSession } from "./links.ts";
import type { ImportGroup, Plan, SkippedFile } from "./plan.ts";
import { addTotals, batches, emptyTotals, type SendOptions, type SendTotals, sendBatch } from "./send.ts";
import { importedEnds } from "./session-ends.ts";
import { sourceLines } from "./source.ts";

export interface ImportOptions {
  harness?: string | undefined;
  /** The name of this machine. */
  machine?: string | undefined;
  /** See `ReaderOptions`. */
  repositoryOf?: ReaderOptions["repositoryOf"];
  titles: boolean;
  /** For files of the format `mapped`. */
  mapping?: CompiledMapping | undefined;
}

export interface ImportSummary {
  files: Partial<Record<SourceFormat, number>>;
  sessions: number;
  agents: number;
  /** Number of events read, sent or not. */
  events: number;
  skipped: SkipCounts;
  /** Files of which no line was used, with the reasons. */
  unused: { path: string; location: string; skipped: SkipCounts }[];
  /** Files that could not be read to the end. */
  unreadable: SkippedFile[];
  /** Undefined in a dry run. */
  sent: SendTotals | undefined;
}

export interface ImportProgress {
  bytes: number;
  totalBytes: number;
  events: number;
}

export function readerFor(format: SourceFormat, options: ImportOptions): HarnessReader {
  const { machine = machineOf(), mapping, titles, repositoryOf } = options;
  const family = format === "mapped" ? mapping!.mapping.name : format;
  const fields = { harness: options.harness ?? `${family}@${machine}`, titles, repositoryOf };
  const reader = format === "mapped" ? mappedReader(mapping!, fields) : createReader(format, fields);
  return options.machine === undefined ? reader : onMachine(reader, options.machine);
}

/** The same events, with the name of this machine. */
function onMachine(reader: HarnessReader, machine: string): HarnessReader {
  return {
    read: (line, file) => reader.read(line, file),
    take(final) {
      const { events, skipped } = reader.take(final);
      return { events: events.map((event) => ({ ...event, machine })), skipped };
    },
  };
}

/** Reads every group of the plan and sends its events. Without a connection, it only counts them. */
export async function runImport(
  plan: Plan,
  connection: Connection | undefined,
  options: ImportOptions & {
    onProgress?: (progress: ImportProgress) => void;
    send?: SendOptions;
    /** Called once with the sessions that were sent. */
    onSessions?: (sessions: readonly ImportedSession[]) => void;
  },
): Promise<ImportSummary> {
  const sessions = new Map<string, ImportedSession>();
  const agents = new Set<string>();
  const summary: ImportSummary = {
    files: {},
    sessions: 0,
    agents: 0,
    events: 0,
    skipped: {},
    unused: [],
    unreadable: [],
    sent: connection === undefined ? undefined : emptyTotals(),
  };
  const totalBytes = plan.groups.flatMap((group) => group.files).reduce((sum, file) => sum + file.bytes, 0);
  let bytes = 0;
  for (const group of plan.groups) {
    const { events, skipped, unused, unreadable } = await readGroup(group, options, (read) => {
      bytes += read;
      options.onProgress?.({ bytes: Math.min(bytes, totalBytes), totalBytes, events: summary.events });
    });
    const own = group.files.filter((file) => file.contextOnly !== true).length;
    summary.files[group.format] = (summary.files[group.format] ?? 0) + own;
    addSkips(summary.skipped, skipped);
    append(summary.unused, unused);
    append(summary.unreadable, unreadable);
    for (const event of events) {
      if (event.session === undefined) continue;
      addSession(sessions, event.harness, event.session, event.at as number);
      agents.add(JSON.stringify([event.harness, event.session, event.agent ?? "main"]));
    }
    summary.events += events.length;
    if (connection !== undefined) {
      for (const batch of batches(events)) {
        addTotals(summary.sent!, await sendBatch(connection, batch, options.send));
        options.onProgress?.({ bytes: Math.min(bytes, totalBytes), totalBytes, events: summary.events });
      }
    }
  }
  summary.sessions = sessions.size;
  summary.agents = agents.size;
  if (connection !== undefined) options.onSessions?.([...sessions.values()]);
  return summary;
}

function addSession(
  sessions: Map<string, ImportedSession>,
  harness: string,
  session: string,
  at: number,
): void {
  const key = JSON.stringify([harness, session]);
  const known = sessions.get(key);
  if (known === undefined) sessions.set(key, { harness, session, firstAt: at, lastAt: at });
  else {
    known.firstAt = Math.min(known.firstAt, at);
    known.lastAt = Math.max(known.lastAt, at);
  }
}

async function readGroup(
  group: ImportGroup,
  options: ImportOptions,
  onBytes: (bytes: number) => void,
): Promise<Pick<ImportSummary, "skipped" | "unused" | "unreadable"> & { events: PlimsollEventInput[] }> {
  const reader = readerFor(group.format, options);
  const unused: ImportSummary["unused"] = [];
  const unreadable: SkippedFile[] = [];
  for (const file of group.files) {
    const skips = new Skips();
    let isUsed = file.contextOnly === true;
    try {
      for await (const { lines, bytes } of sourceLines(file.location)) {
        for (const line of lines) {
          if (skips.count(reader.read(line, file)) === undefined) isUsed = true;
        }
        if (file.contextOnly !== true) onBytes(bytes);
      }
    } catch {
      // It may have been deleted since the plan. The other files are still read.
      unreadable.push({ path: file.path, location: file.location, why: "unreadable" });
      continue;
    }
    if (!isUsed) unused.push({ path: file.path, location: file.location, skipped: skips.drain() });
  }
  const { events, skipped } = reader.take(true);
  return { events: inOrder([...events, ...importedEnds(events)]), skipped, unused, unreadable };
}

/** Sorts events by time, which is the server's fast path. */
export function inOrder(events: PlimsollEventInput[]): PlimsollEventInput[] {
  return events.sort((a, b) => (a.at as number) - (b.at as number));
}
