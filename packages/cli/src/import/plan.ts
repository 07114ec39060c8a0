import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import {
  detectFormat,
  type FileHint,
  FORMATS,
  fileThread,
  hasMappedRecords,
  isRecordingName,
  isRooHistory,
  logPlace,
  ouroContextLimit,
  type SourceFormat,
} from "@plimsoll/harnesses/recordings";
import type { CompiledMapping } from "@plimsoll/protocol/mapping";
import { CliError } from "../errors.ts";
import { LARGEST_DOCUMENT, sourceKind, sourceLines } from "./source.ts";

export interface PlannedFile extends FileHint {
  /** The path with the separators of the system; `path` has `/`. */
  location: string;
  bytes: number;
}

/** Files that one reader must read together. */
export interface ImportGroup {
  key: string;
  format: SourceFormat;
  files: PlannedFile[];
}

export interface Plan {
  groups: ImportGroup[];
  /** Skipped files with the reason. */
  unknown: SkippedFile[];
}

/** Reasons why a file is not read. */
export const SKIPPED_FILE_REASONS = [
  "unknown_format",
  "empty",
  "unreadable",
  "too_large",
  "goose-totals",
  "crush",
  "roo-code",
] as const;

export interface SkippedFile {
  path: string;
  location: string;
  why: (typeof SKIPPED_FILE_REASONS)[number];
}

export const WHY_TEXT: Record<SkippedFile["why"], string> = {
  unknown_format: "unknown format",
  empty: "empty",
  unreadable: "unreadable",
  too_large: "too large for a JSON document",
  "goose-totals":
    "This version of Goose stores only the totals of a session. A total is a sum over requests, not a context",
  crush: "Crush stores only the totals of a session. A total is a sum over requests, not a context",
  "roo-code":
    "Roo Code's history has only the totals of a task. A total is a sum over requests, not a context",
};

export interface PlanOptions {
  contextLimit?: number | undefined;
  /** Known formats by path, so that a repeated scan does not open the files again. */
  formats?: Map<string, SourceFormat>;
  /** True while following: a path may be missing at times. */
  mayBeMissing?: boolean;
  /** Reads files of no known format that it matches. */
  mapping?: CompiledMapping | undefined;
}

const LOOK_AT_LINES = 50;
/** Logs of programs hold other lines too. */
const LOOK_AT_MAPPED_LINES = 2_000;
const CLAUDE_SESSION = /^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$/i;

/**
 * Finds the recordings under the given paths and groups them by reader.
 * @throws CliError if a path does not exist
 */
export async function planImport(paths: readonly string[], options: PlanOptions = {}): Promise<Plan> {
  const plan: Plan = { groups: [], unknown: [] };
  const groups = new Map<string, ImportGroup>();
  const { locations, folders } = await recordings(paths, options);
  for (const location of locations) {
    await place(location, groups, plan, options);
  }
  for (const group of groups.values()) {
    if (group.format === "ouroboros") await addEarlierLogs(group);
    if (group.format === "claude-code") {
      await addOtherSessions(group, folders);
      await addAgentMetas(group);
    }
    if (group.format === "codex" && options.formats === undefined) await addOriginalThreads(group);
    group.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }
  plan.groups = [...groups.values()];
  return plan;
}

async function place(
  location: string,
  groups: Map<string, ImportGroup>,
  plan: Plan,
  options: PlanOptions,
): Promise<void> {
  const path = location.split(sep).join("/");
  let found: SourceFormat | SkippedFile["why"];
  let bytes: number;
  try {
    bytes = (await stat(location)).size;
    found = options.formats?.get(location) ?? (await recognize(location, bytes, options.mapping));
  } catch {
    found = "unreadable";
    bytes = 0;
  }
  if (!isFormat(found)) {
    plan.unknown.push({ path, location, why: found });
    return;
  }
  const format = found;
  options.formats?.set(location, format);
  const contextLimit =
    format === "ouroboros" ? (options.contextLimit ?? (await configuredLimit(location))) : undefined;
  const key = `${format} ${groupFolder(format, path)}`;
  const group = groups.get(key) ?? { key, format, files: [] };
  groups.set(key, group);
  group.files.push({ path, location, bytes, ...(contextLimit !== undefined && { contextLimit }) });
}

/** The folder that a group shares: a Claude Code project, or the logs of an Ouroboros workspace. Others link by id. */
function groupFolder(format: SourceFormat, path: string): string {
  const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  if (format === "claude-code") return folder.replace(/^(?:(.*)\/)?[^/]+\/subagents(?:\/.*)?$/, "$1");
  if (format === "ouroboros") return logPlace(path).parentFolder ?? folder;
  return "";
}

/** The files to look at, and the folders that were searched for them. */
async function recordings(
  paths: readonly string[],
  options: PlanOptions,
): Promise<{ locations: string[]; folders: ReadonlySet<string> }> {
  const found = new Set<string>();
  const folders = new Set<string>();
  for (const path of paths) {
    let entry: Awaited<ReturnType<typeof stat>>;
    try {
      entry = await stat(path);
    } catch {
      if (options.mayBeMissing) continue;
      throw new CliError(`File or folder not found: ${path}.`);
    }
    if (entry.isDirectory()) await search(path, { found, folders, visited: new Set() });
    else found.add(path);
  }
  return { locations: [...found].sort(), folders };
}

/**
 * Finds files with the name of a recording below a folder. It follows links, but visits each folder once, because links can form cycles.
 * An unreadable folder is added itself, so that the summary lists it.
 */
async function search(
  folder: string,
  into: { found: Set<string>; folders: Set<string>; visited: Set<string> },
): Promise<void> {
  const { found, folders, visited } = into;
  folders.add(resolve(folder));
  let entries: Dirent[];
  try {
    const real = await realpath(folder);
    if (visited.has(real)) return;
    visited.add(real);
    entries = await readdir(folder, { withFileTypes: true });
  } catch {
    found.add(folder);
    return;
  }
  // Follow links last, so that a file is listed under its real path.
  for (const links of [false, true]) {
    for (const entry of entries) {
      if (entry.isSymbolicLink() !== links || entry.name === "node_modules") continue;
      const path = join(folder, entry.name);
      if (links ? await isFolder(path) : entry.isDirectory()) await search(path, into);
      else if (isRecordingName(entry.name)) found.add(path);
    }
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );

const isFile = (path: string) =>
  stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );

const LOOK_AT_BYTES = 1 << 16;

/** Returns the format of a file, or why it is not read. A known format wins over the mapping. */
async function recognize(
  location: string,
  bytes: number,
  mapping: CompiledMapping | undefined,
): Promise<SourceFormat | SkippedFile["why"]> {
  if (bytes === 0) return "empty";
  const kind = sourceKind(location);
  if (kind === "document" && bytes > LARGEST_DOCUMENT) return "too_large";
  if (kind === "database") {
    const { databaseOwner } = await import("./database.ts");
    return (await databaseOwner(location)) ?? "unknown_format";
  }
  let looked = 0;
  let isMapped = false;
  for await (const { lines } of sourceLines(location, LOOK_AT_BYTES)) {
    for (const line of lines) {
      const found = detectFormat(line) ?? (isRooHistory(line) ? "roo-code" : undefined);
      if (found !== undefined) return found;
      looked += 1;
      isMapped ||= mapping !== undefined && hasMappedRecords(mapping, line);
      if (looked >= (mapping === undefined || isMapped ? LOOK_AT_LINES : LOOK_AT_MAPPED_LINES))
        return isMapped ? "mapped" : "unknown_format";
    }
  }
  return isMapped ? "mapped" : "unknown_format";
}

const isFormat = (found: SourceFormat | SkippedFile["why"]): found is SourceFormat =>
  found === "mapped" || (FORMATS as readonly string[]).includes(found);

/** Reads the window size from `ouro.toml`, which is next to the log folder or in the workspace next to it. */
async function configuredLimit(location: string): Promise<number | undefined> {
  const folder = dirname(location);
  const logs = logPlace(location.split(sep).join("/")).sub === undefined ? folder : dirname(folder);
  for (const candidate of [logs, dirname(logs), join(dirname(logs), "workspace")]) {
    const limit = ouroContextLimit(await readFile(join(candidate, "ouro.toml"), "utf8").catch(() => ""));
    if (limit !== undefined) return limit;
  }
  return undefined;
}

/** Adds the other sessions of a project as context, because a resumed session can begin with a copy of one of them. */
async function addOtherSessions(group: ImportGroup, searched: ReadonlySet<string>): Promise<void> {
  const known = new Set(group.files.map((file) => file.path));
  for (const folder of new Set(group.files.map((file) => projectFolder(file.location)))) {
    // What the search did not find is empty or newer, and the next scan finds it.
    if (searched.has(resolve(folder))) continue;
    for (const name of await readdir(folder).catch(() => [])) {
      const location = join(folder, name);
      const path = location.split(sep).join("/");
      if (!CLAUDE_SESSION.test(name) || known.has(path)) continue;
      known.add(path);
      group.files.push({ path, location, bytes: 0, contextOnly: true });
    }
  }
}

/** Files whose headers are read for the threads that they come from. In more of them, those threads are mostly there too. */
const MOST_SINGLE_FILES = 32;
const ORIGIN = /"(?:forked_from_id|parent_thread_id)"\s*:\s*"([0-9a-f-]{36})"/g;

/** Adds the rollouts that forks and sub-agents of Codex begin with a copy of, because their ids tell what is copied. */
async function addOriginalThreads(group: ImportGroup): Promise<void> {
  if (group.files.length > MOST_SINGLE_FILES) return;
  const known = new Set(group.files.map(({ path }) => fileThread(path)));
  for (const { location } of [...group.files]) {
    const header = await headerOf(location);
    const origins = new Set([...header.matchAll(ORIGIN)].map(([, id]) => id!).filter((id) => !known.has(id)));
    if (origins.size === 0) continue;
    const { locations } = await recordings([sessionsFolder(location)], {});
    for (const found of locations) {
      const path = found.split(sep).join("/");
      const thread = fileThread(path);
      if (!origins.has(thread) || known.has(thread)) continue;
      known.add(thread);
      group.files.push({ path, location: found, bytes: 0, contextOnly: true });
    }
  }
}

/** The first lines of a file. */
export async function headerOf(location: string): Promise<string> {
  for await (const { lines } of sourceLines(location, LOOK_AT_BYTES)) {
    if (lines.length > 0) return lines.slice(0, 2).join("\n");
  }
  return "";
}

/** The folder `sessions` around a file, else its own. Archived threads come from there too. */
function sessionsFolder(location: string): string {
  const folders = dirname(location).split(sep);
  const at = folders.lastIndexOf("sessions");
  return at === -1 ? dirname(location) : folders.slice(0, at + 1).join(sep);
}

/** Adds what Claude Code notes beside the file of a sub-agent: the tool call that started it. */
async function addAgentMetas(group: ImportGroup): Promise<void> {
  for (const { location, path } of [...group.files]) {
    if (!/^agent-.*\.jsonl$/.test(basename(location))) continue;
    const [meta, metaPath] = [location, path].map((name) => name.replace(/\.jsonl$/, ".meta.json"));
    if (await isFile(meta!))
      group.files.push({ path: metaPath!, location: meta!, bytes: 0, contextOnly: true });
  }
}

/** Sub-agents of a workflow have a folder of their own among those of their session. */
function projectFolder(location: string): string {
  const folders = dirname(location).split(sep);
  const at = folders.lastIndexOf("subagents");
  if (at === -1) return dirname(location);
  return join(dirname(location), ...folders.slice(at - 1).map(() => ".."));
}

/** Adds earlier logs as context, because a log that continues an earlier one belongs to the same session. */
async function addEarlierLogs(group: ImportGroup): Promise<void> {
  const known = new Set(group.files.map((file) => file.path));
  for (const folder of new Set(group.files.map((file) => dirname(file.location)))) {
    const logs = logPlace(`${folder.split(sep).join("/")}/x`).sub === undefined ? folder : dirname(folder);
    for (const place of new Set([folder, logs])) {
      for (const name of await readdir(place).catch(() => [])) {
        const location = join(place, name);
        const path = location.split(sep).join("/");
        if (!/^session-.*\.jsonl$/.test(name) || known.has(path)) continue;
        known.add(path);
        group.files.push({ path, location, bytes: 0, contextOnly: true });
      }
    }
  }
}
