import type { HarnessReader, SourceFormat } from "@plimsoll/harnesses/recordings";
import type { Connection } from "../connection.ts";
import { sleep } from "../sleep.ts";
import { FollowedDocument } from "./followed-document.ts";
import { FollowedFile, OpenFiles } from "./followed-file.ts";
import { type ImportOptions, readerFor } from "./import.ts";
import { Outbox, type OutboxOptions } from "./outbox.ts";
import { type ImportGroup, type PlannedFile, planImport, type SkippedFile } from "./plan.ts";
import { importedEnds } from "./session-ends.ts";
import { sourceKind } from "./source.ts";

const POLL_MS = 500;
/** Scanning folders for new files costs more than polling known files, so it happens less often. */
const SCAN_MS = 2_000;
/** A session without events for this long is ended. It continues when new lines arrive. */
const HISTORY_MS = 30 * 60_000;

export interface TailOptions extends ImportOptions, OutboxOptions {
  contextLimit?: number | undefined;
  pollMs?: number;
  scanMs?: number;
  now: () => number;
  /** Called once, after the first scan. */
  onBegun?: () => void;
  /** Called once for each file that is not read, except an empty one, and again if the reason changes. */
  onSkipped?: (file: SkippedFile) => void;
}

interface Followed {
  group: ImportGroup;
  reader: HarnessReader;
  /** By path. A file that was renamed stays here until it was read to its end. */
  files: Map<string, { hint: PlannedFile; followed: FollowedFile | FollowedDocument }>;
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
  const formats = new Map<string, SourceFormat>();
  const skipped = new Map<string, SkippedFile["why"]>();
  const open = new OpenFiles();
  let scannedAt = Number.NEGATIVE_INFINITY;
  try {
    await follow();
  } finally {
    await open.closeAll();
  }

  async function follow(): Promise<void> {
    while (!options.signal.aborted) {
      if (options.now() - scannedAt >= (options.scanMs ?? SCAN_MS)) {
        const plan = await planImport(paths, {
          contextLimit: options.contextLimit,
          formats,
          mayBeMissing: formats.size > 0,
          mapping: options.mapping,
        });
        for (const group of plan.groups) followGroup(groups, group, open, options);
        for (const file of plan.unknown) {
          // An empty file is read once it has lines.
          if (file.why === "empty" || skipped.get(file.path) === file.why) continue;
          skipped.set(file.path, file.why);
          options.onSkipped?.(file);
        }
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
}

function followGroup(
  groups: Map<string, Followed>,
  group: ImportGroup,
  open: OpenFiles,
  options: TailOptions,
): void {
  const followed: Followed = groups.get(group.key) ?? {
    group,
    reader: readerFor(group.format, options),
    files: new Map(),
  };
  groups.set(group.key, followed);
  followed.group = group;
  for (const hint of group.files) {
    const known = followed.files.get(hint.path);
    followed.files.set(hint.path, {
      hint,
      followed: known?.followed ?? followedSource(hint.location, open),
    });
  }
}

function followedSource(location: string, open: OpenFiles): FollowedFile | FollowedDocument {
  return sourceKind(location) === "lines"
    ? new FollowedFile(location, open)
    : new FollowedDocument(location, () => performance.now());
}

async function readNew({ group, reader, files }: Followed, outbox: Outbox, now: number): Promise<void> {
  let read = false;
  const present = new Set(group.files.map(({ path }) => path));
  for (const [path, { hint, followed }] of files) {
    const lines = await followed.poll();
    if (lines === undefined && !present.has(path)) {
      files.delete(path);
      await followed.close();
    }
    for (const line of lines ?? []) {
      reader.read(line, hint);
      read = true;
    }
  }
  if (!read) return;
  const { events } = reader.take(false);
  outbox.offer([...events, ...importedEnds(events, now - HISTORY_MS)]);
}
