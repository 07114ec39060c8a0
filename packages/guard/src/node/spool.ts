import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Spool } from "../report/options.ts";

/** Options of {@link fileSpool}. */
export interface SpoolOptions {
  /** Maximum size on disk, in bytes. When full, the oldest segments are dropped. Default: 64 MiB. */
  maxBytes?: number;
  /** Size at which a new segment starts, in bytes. Default: 512 KiB. */
  segmentBytes?: number;
  /** Current time in epoch ms, for segment names. */
  clock?: () => number;
}

const SEGMENT_NAME = /^\d{13}-\d{6}-([0-9a-z]+)\.ndjson$/;
/** Who writes a segment: a process of a machine. */
const WRITER = /^p(\d+)h([0-9a-f]+)$/;
const HOST = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
const OWN = `p${process.pid}h${HOST}`;
/** A segment of another writer that may be alive is taken when nothing was added to it for so long, in ms. */
const ABANDONED_MS = 10_000;

/**
 * Stores events on disk while the server is unreachable, as NDJSON segments. A segment is removed only after the server
 * has stored it. A last line torn by a crash is skipped. Several processes may share the folder: the segments of one that ended are sent by
 * another one.
 * @example
 * const reporter = createReporter({ url, key, spool: fileSpool(".plimsoll-spool") });
 */
export function fileSpool(folder: string, options: SpoolOptions = {}): Spool {
  const maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
  const segmentBytes = Math.min(options.segmentBytes ?? 512 * 1024, maxBytes);
  const clock = options.clock ?? Date.now;
  let writing: { name: string; bytes: number } | undefined;
  let number = 0;
  const alone = <T>(work: () => Promise<T>) => inTurn(resolve(folder), work);

  async function segments(): Promise<{ name: string; bytes: number }[]> {
    let names: string[];
    try {
      names = await readdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
    const found: { name: string; bytes: number }[] = [];
    for (const name of names.filter((one) => SEGMENT_NAME.test(one)).sort()) {
      const size = await stat(join(folder, name)).catch(() => undefined);
      if (size !== undefined) found.push({ name, bytes: size.size });
    }
    return found;
  }

  async function trim(): Promise<number> {
    const all = await segments();
    let bytes = all.reduce((sum, segment) => sum + segment.bytes, 0);
    let dropped = 0;
    for (const segment of all) {
      if (bytes <= maxBytes) break;
      dropped += wholeLines(await readFile(join(folder, segment.name), "utf8")).length;
      await rm(join(folder, segment.name), { force: true });
      if (writing?.name === segment.name) writing = undefined;
      bytes -= segment.bytes;
    }
    return dropped;
  }

  async function add(lines: readonly string[]): Promise<number> {
    if (lines.length === 0) return 0;
    await mkdir(folder, { recursive: true });
    for (let from = 0; from < lines.length; ) {
      if (writing === undefined || writing.bytes >= segmentBytes) {
        const at = String(clock()).padStart(13, "0");
        writing = { name: `${at}-${String(number++).padStart(6, "0")}-${OWN}.ndjson`, bytes: 0 };
      }
      let text = "";
      while (from < lines.length && writing.bytes + text.length < segmentBytes) text += `${lines[from++]!}\n`;
      const { name } = writing;
      const bytes = writing.bytes + Buffer.byteLength(text);
      // A failed write may leave a torn line, so nothing may be appended to that segment.
      writing = undefined;
      const file = await open(join(folder, name), "a");
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      writing = { name, bytes };
    }
    return trim();
  }

  async function next(): ReturnType<Spool["next"]> {
    for (const { name } of await segments()) {
      const path = join(folder, name);
      if (!(await mayTake(name, path))) continue;
      // Stop appending to a segment that is being sent.
      if (writing?.name === name) writing = undefined;
      const bytes = await readFile(path).catch(() => Buffer.alloc(0));
      const lines = wholeLines(bytes.toString("utf8"));
      const remove = async () => {
        // If another process appended in the meantime, the segment is sent again, which is harmless.
        const now = await stat(path).catch(() => undefined);
        if (now?.size === bytes.length) await rm(path, { force: true });
      };
      if (lines.length > 0) return { lines, done: () => alone(remove) };
      await remove();
    }
    return undefined;
  }

  return { add: (lines) => alone(() => add(lines)), next: () => alone(next) };
}

/** The latest operation on each folder. */
const operations = new Map<string, Promise<unknown>>();

/** Runs the operations on a folder one after the other: a segment that is being written must not be read or removed. */
function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const done = (operations.get(folder) ?? Promise.resolve()).then(work, work);
  const settled = done
    .catch(() => {})
    .then(() => {
      if (operations.get(folder) === settled) operations.delete(folder);
    });
  operations.set(folder, settled);
  return done;
}

/** Whether this process may send a segment: its own, that of a process that ended, or one that nobody adds to. */
async function mayTake(name: string, path: string): Promise<boolean> {
  const writer = SEGMENT_NAME.exec(name)![1]!;
  if (writer === OWN) return true;
  const [, pid, host] = WRITER.exec(writer) ?? [];
  if (pid !== undefined && host === HOST && !isAlive(Number(pid))) return true;
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is alive, too.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function wholeLines(text: string): string[] {
  return text.split("\n").filter((line) => {
    if (line === "") return false;
    try {
      JSON.parse(line);
      return true;
    } catch {
      return false;
    }
  });
}
