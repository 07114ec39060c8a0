import { readdir } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { CALLERS, type CallerFamily, type CallingFamily } from "@plimsoll/harnesses/callers";
import { type AgentContents, fileThread, type HarnessReader } from "@plimsoll/harnesses/recordings";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { FollowedFile, type OpenFiles } from "../import/followed-file.ts";
import { readerFor } from "../import/import.ts";
import { headerOf } from "../import/plan.ts";
import { withSubagents } from "./find-caller.ts";

/** What a recording says. */
export interface RecordedSession {
  session: string;
  /** Events of all of its agents, as a reader gives them. */
  events: readonly PlimsollEventInput[];
  /** What the window of each agent holds. Empty for a family whose recordings do not show it. */
  contents: readonly AgentContents[];
}

/** Latest lines of each file that the level is read from. The forecast needs twelve turns, and a turn with many tools has many lines. */
const KEPT = 128;
/** The first lines of a file, of which Codex names the thread in the first. */
const HEAD = 2;

interface FollowedLines {
  file: FollowedFile;
  head: string[];
  latest: string[];
  /** Number of all lines. */
  seen: number;
}

/**
 * Follows the recording of one session. A look reads what was added since the last one, and works on the latest lines alone, so that it takes
 * the same time however long the session is.
 */
export class SessionReading {
  readonly #family: CallingFamily;
  readonly #recording: string;
  readonly #open: OpenFiles;
  readonly #files = new Map<string, FollowedLines>();
  readonly #others = new Set<string>();
  /** Has all lines but those that wait. Texts stay in this process, which answers the agent that they are from. */
  readonly #whole: HarnessReader;
  #waiting: { line: string; path: string }[] = [];
  #wholeSession: RecordedSession | undefined;
  #recent: HarnessReader;
  #recentLines = 0;
  #recentSession: RecordedSession | undefined;
  /** One look at a time, because calls of an agent come together. */
  #looks: Promise<unknown> = Promise.resolve();

  constructor(family: CallingFamily, recording: string, open: OpenFiles) {
    this.#family = family;
    this.#recording = recording;
    this.#open = open;
    this.#whole = readerFor(family, { titles: false });
    this.#recent = this.#recentReader();
  }

  /** What the latest lines say. @returns undefined while the recording has no turn */
  look(): Promise<RecordedSession | undefined> {
    return this.#inTurn(async () => {
      await this.#poll();
      return this.#recentSession;
    });
  }

  /** What all lines say that a look has seen, as far as they are needed: a count of what `look` has too may be older by `KEPT` lines. */
  whole(isExact = false): RecordedSession | undefined {
    if (this.#wholeSession === undefined || this.#waiting.length >= KEPT || isExact) {
      for (const { line, path } of this.#waiting.splice(0)) this.#whole.read(line, hintOf(path));
      this.#wholeSession = sessionOf(this.#whole) ?? this.#wholeSession;
    }
    return this.#wholeSession;
  }

  async close(): Promise<void> {
    await this.#looks;
    for (const { file } of this.#files.values()) await file.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#looks.then(work);
    this.#looks = turn.catch(() => {});
    return turn;
  }

  #recentReader(): HarnessReader {
    return readerFor(this.#family, { titles: false });
  }

  async #poll(): Promise<void> {
    let isNew = false;
    for (const path of await this.#paths()) {
      const known = this.#files.get(path) ?? {
        file: new FollowedFile(path, this.#open),
        head: [],
        latest: [],
        seen: 0,
      };
      this.#files.set(path, known);
      const lines = (await known.file.poll()) ?? [];
      if (lines.length === 0) continue;
      isNew = true;
      for (const line of lines) this.#waiting.push({ line, path });
      if (known.head.length < HEAD) known.head.push(...lines.slice(0, HEAD - known.head.length));
      known.seen += lines.length;
      known.latest = [...known.latest, ...lines.slice(-KEPT)].slice(-KEPT);
      for (const line of lines.slice(-KEPT)) this.#recent.read(line, hintOf(path));
      this.#recentLines += lines.length;
    }
    if (this.#recentLines > 2 * KEPT) this.#startAgain();
    if (isNew) this.#recentSession = sessionOf(this.#recent) ?? this.#recentSession;
  }

  #startAgain(): void {
    this.#recent = this.#recentReader();
    for (const [path, { head, latest, seen }] of this.#files)
      for (const line of [...head.slice(0, seen - latest.length), ...latest])
        this.#recent.read(line, hintOf(path));
    this.#recentLines = 0;
  }

  async #paths(): Promise<string[]> {
    const own = await withSubagents([this.#recording], CALLERS[this.#family] as CallerFamily);
    return this.#family === "codex" ? [...own, ...(await this.#childThreads())] : own;
  }

  /** Codex writes the thread of a sub-agent into a file of its own, with the id of its parent in the first line. */
  async #childThreads(): Promise<string[]> {
    const folder = dirname(this.#recording);
    const thread = fileThread(basename(this.#recording));
    const found: string[] = [];
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      if (path === this.#recording || this.#others.has(path) || !name.endsWith(".jsonl")) continue;
      const header = this.#files.has(path) ? undefined : await headerOf(path).catch(() => "");
      if (header === undefined || header.includes(`"${thread}"`)) found.push(path);
      else if (header !== "") this.#others.add(path);
    }
    return found;
  }
}

/** Readers take paths with `/`. */
const hintOf = (path: string) => ({ path: path.split(sep).join("/") });

export function sessionOf(reader: HarnessReader): RecordedSession | undefined {
  const { events } = reader.take(true);
  const session = events.find(({ type }) => type === "turn")?.session;
  if (session === undefined) return undefined;
  return {
    session,
    events: events.filter((event) => event.session === session),
    contents: reader.contents?.().filter((one) => one.session === session) ?? [],
  };
}
