import { open, stat } from "node:fs/promises";
import { Lines } from "./lines.ts";

const CHUNK = 1 << 20;

/**
 * Reads the complete lines added to a file since the last call. A file that was truncated or replaced is read from the
 * start; the server ignores events that it already has.
 */
export class FollowedFile {
  readonly #location: string;
  #offset = 0;
  #inode: number | undefined;
  #lines = new Lines();

  constructor(location: string) {
    this.#location = location;
  }

  /** Returns the new lines, or undefined if the file is missing. */
  async poll(): Promise<string[] | undefined> {
    let size: number;
    let inode: number;
    try {
      ({ size, ino: inode } = await stat(this.#location));
    } catch {
      return undefined;
    }
    if (inode !== this.#inode || size < this.#offset) {
      this.#inode = inode;
      this.#offset = 0;
      this.#lines = new Lines();
    }
    return size > this.#offset ? this.#readTo(size) : [];
  }

  async #readTo(size: number): Promise<string[] | undefined> {
    const lines: string[] = [];
    try {
      const file = await open(this.#location, "r");
      try {
        const buffer = Buffer.alloc(Math.min(CHUNK, size - this.#offset));
        while (this.#offset < size) {
          const { bytesRead } = await file.read(buffer, 0, buffer.length, this.#offset);
          if (bytesRead === 0) break;
          this.#offset += bytesRead;
          for (const line of this.#lines.push(buffer.subarray(0, bytesRead))) lines.push(line);
        }
      } finally {
        await file.close();
      }
    } catch {
      return undefined;
    }
    return lines;
  }
}
