import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { GuardError } from "@plimsoll/guard";
import { type Lock, lockFile, replaceFile } from "@plimsoll/guard/node";
import type { LoopState, LoopStore } from "../loop/state.ts";
import {
  applyEdits,
  type Edit,
  editLines,
  type RunState,
  type RunStore,
  stateText,
} from "../orchestrate/state.ts";
import type { SessionsState, SessionsStore } from "../sessions/state.ts";

/**
 * Replaces a file atomically and durably. A reader, or a process after a crash, sees either the old or the new text.
 * @example
 * await writeAtomic("notes.md", "# Notes\n");
 */
export async function writeAtomic(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, (file) => file.writeFile(text));
}

/** A file that only one process may use at a time. */
class LockedFile {
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

  /** Runs `write` under the current lock, or under a lock taken for this call. */
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

/** @throws {SyntaxError} If the file is not JSON. Our own writes never leave such a file. */
async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Stores a loop's state in one JSON file. `PATH.lock` ensures that only one loop uses it at a time.
 * @throws {GuardError} From `claim`: `store_locked`. From `write`: `store_lost`.
 * @example
 * await runLoop({ store: fileLoopStore("explore-1.json"), ...options });
 */
export function fileLoopStore(path: string): LoopStore {
  const file = new LockedFile(path);
  return {
    claim: () => file.claim(),
    read: () => readJson<LoopState>(path),
    write(state) {
      // Serialise now, because the loop keeps changing the object.
      const text = `${JSON.stringify(state, null, 2)}\n`;
      return file.change(() => writeAtomic(path, text));
    },
  };
}

/**
 * Stores a run's state in one JSON file. Each edit changes only the lines of its fields, and fewer than 20. `PATH.lock`
 * ensures that only one orchestrator uses it at a time.
 * @throws {GuardError} From `claim`: `store_locked`. From `apply`: `store_lost`, and `edit_too_large` if an edit of a stored run
 * changes 20 lines or more; the file is then unchanged.
 * @example
 * await orchestrate({ store: fileRunStore("state.json"), ...options });
 */
export function fileRunStore(path: string): RunStore {
  const file = new LockedFile(path);
  return {
    claim: () => file.claim(),
    read: () => readJson<RunState>(path),
    apply: (edits: readonly Edit[]) =>
      file.change(async () => {
        const stored = await readJson<object>(path);
        const text = stored === undefined ? stateText(applyEdits({}, edits)) : edited(stored, edits);
        await writeAtomic(path, `${text}\n`);
      }),
  };
}

/** An edit of a stored run writes fewer lines than this, so that an agent can follow the file. */
const MAX_EDIT_LINES = 20;

/** Returns the text of a run after its edits. */
function edited(stored: object, edits: readonly Edit[]): string {
  let [document, text] = [stored, stateText(stored)];
  for (const edit of edits) {
    document = applyEdits(document, [edit]);
    const next = stateText(document);
    const lines = editLines(text, next);
    if (lines >= MAX_EDIT_LINES) {
      const what = edit.path.join(".") || "the whole run";
      throw new GuardError(
        "edit_too_large",
        `The edit of ${what} changes ${lines} lines of the state file, and the limit is ${MAX_EDIT_LINES - 1}. Edit its fields one by one.`,
      );
    }
    text = next;
  }
  return text;
}

/**
 * Stores a run of `runSessions` in one JSON file, with its messages. `PATH.lock` ensures that only one run uses it at a time.
 * @throws {GuardError} From `claim`: `store_locked`. From `write`: `store_lost`.
 * @example
 * await runSessions({ sessionStore: fileSessionsStore("session.json"), ...options });
 */
export function fileSessionsStore<M>(path: string): SessionsStore<M> {
  const file = new LockedFile(path);
  return {
    claim: () => file.claim(),
    read: () => readJson<SessionsState<M>>(path),
    write: (state) => file.change(() => writeAtomic(path, `${JSON.stringify(state)}\n`)),
  };
}
