import { randomBytes } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { LoopState, LoopStore } from "../loop/state.ts";
import type { Edit, RunState, RunStore } from "../orchestrate/state.ts";
import { edited } from "../orchestrate/state.ts";
import type { LogLine } from "../report/reporter.ts";
import type { MaskStore } from "../types.ts";
import { type Lock, lockFile } from "./lock.ts";

/** Replaces a file whole: a reader, or a process after a crash, sees the old or the new text and nothing between. */
export async function writeAtomic(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    const file = await open(draft, "wx");
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** A rename outlives a loss of power only once its folder is on disk. Not every system lets a folder be opened. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!NO_FOLDER_SYNC.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

const NO_FOLDER_SYNC = new Set(["EISDIR", "EPERM", "EACCES", "EINVAL", "ENOTSUP", "EBADF"]);

/** One file that one process works on at a time. */
class HeldFile {
  readonly path: string;
  #lock: Lock | undefined;

  constructor(path: string) {
    this.path = path;
  }

  async claim(): Promise<() => Promise<void>> {
    await mkdir(dirname(this.path), { recursive: true });
    const lock = await lockFile(this.path);
    this.#lock = lock;
    return async () => {
      this.#lock = undefined;
      await lock.release();
    };
  }

  /** Changes the file under the claim, or one that is taken for just this. */
  async change(write: () => Promise<void>): Promise<void> {
    const release = this.#lock === undefined ? await this.claim() : undefined;
    try {
      await this.#lock?.verify();
      await write();
    } finally {
      await release?.();
    }
  }
}

/**
 * @throws {SyntaxError} when the file is not JSON, which no crash of ours leaves behind.
 */
async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A loop's state in one JSON file. One loop works on it at a time: `PATH.lock` says which. */
export function fileLoopStore(path: string): LoopStore {
  const file = new HeldFile(path);
  return {
    claim: () => file.claim(),
    read: () => readJson<LoopState>(path),
    write(state) {
      // As it is now: the loop goes on changing it.
      const text = `${JSON.stringify(state, null, 2)}\n`;
      return file.change(() => writeAtomic(path, text));
    },
  };
}

/**
 * A run's `state.json`: edits change their fields, the lines around them stay as they are. One orchestrator works on it
 * at a time: `PATH.lock` says which.
 */
export function fileRunStore(path: string): RunStore {
  const file = new HeldFile(path);
  return {
    claim: () => file.claim(),
    read: () => readJson<RunState>(path),
    apply: (edits: readonly Edit[]) =>
      file.change(async () => {
        const next = edited((await readJson<object>(path)) ?? {}, edits);
        await writeAtomic(path, `${JSON.stringify(next, null, 2)}\n`);
      }),
  };
}

/** Masked results as files in a folder, one each, so that an agent can read them back. */
export function fileMaskStore(folder: string): MaskStore {
  const at = (id: string) => join(folder, `${encodeURIComponent(id).replaceAll(".", "%2E")}.txt`);
  return {
    put(id, text) {
      mkdirSync(folder, { recursive: true });
      // Whole or not at all: a masked result is read back from here alone once its session is over.
      const draft = `${at(id)}.${process.pid}.tmp`;
      writeFileSync(draft, text);
      renameSync(draft, at(id));
    },
    get: (id) => (existsSync(at(id)) ? readFileSync(at(id), "utf8") : undefined),
  };
}

/** The JSONL session log: one event a line, which `POST /api/v1/events` takes as it is. */
export function sessionLog(path: string): LogLine {
  mkdirSync(dirname(path), { recursive: true });
  return (line) => appendFileSync(path, `${line}\n`);
}
