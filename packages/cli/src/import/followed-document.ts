import { stat } from "node:fs/promises";
import { sourceLines } from "./source.ts";

/** A file that takes long to read is read again at most this often: once for so many times that duration. */
const REST = 20;

/**
 * Reads a whole file again when it has changed: a JSON document, a database or a compressed recording. The server ignores
 * events that it already has.
 */
export class FollowedDocument {
  readonly #location: string;
  readonly #now: () => number;
  #seen = "";
  #restUntil = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds of a clock that only measures durations */
  constructor(location: string, now: () => number) {
    this.#location = location;
    this.#now = now;
  }

  /** Returns the lines of a changed file, none of an unchanged one, or undefined if it is missing or unreadable. */
  async poll(): Promise<string[] | undefined> {
    const seen = await this.#version();
    if (seen === undefined) return undefined;
    if (seen === this.#seen || this.#now() < this.#restUntil) return [];
    const began = this.#now();
    const lines: string[] = [];
    try {
      for await (const read of sourceLines(this.#location)) for (const line of read.lines) lines.push(line);
    } catch {
      return undefined;
    } finally {
      this.#restUntil = this.#now() + REST * (this.#now() - began);
    }
    this.#seen = seen;
    return lines;
  }

  /** Nothing stays open between polls. */
  async close(): Promise<void> {}

  /** Changes of a database are in its write-ahead log first. */
  async #version(): Promise<string | undefined> {
    const versions = await Promise.all(
      [this.#location, `${this.#location}-wal`].map((path) =>
        stat(path).then(
          ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
          () => undefined,
        ),
      ),
    );
    return versions[0] === undefined ? undefined : versions.join(", ");
  }
}
