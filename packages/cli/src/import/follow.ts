import { open, stat } from "node:fs/promises";
import { Lines } from "./lines.ts";

const CHUNK = 1 << 20;

/**
 * Reads what was added to a file since the last time, whole lines only. A file that shrank or was replaced is read
 * from its beginning: ids are stable, so lines seen twice are stored once.
 */
export class FollowedFile {
  readonly #location: string;
  #offset = 0;
  #inode: number | undefined;
  #lines = new Lines();

  constructor(location: string) {
    this.#location = location;
  }

  /** Undefined when the file is gone. */
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
