import type { FileHandle } from "node:fs/promises";
import { open, stat } from "node:fs/promises";
import { Lines } from "./lines.ts";

const CHUNK = 1 << 20;
/** Bytes at the start of a file, and before the position reached, that show whether the file was rewritten. */
const CHECKED = 1_024;

/** The files that stay open between polls: the most recently read ones, so that the limit of the system is not met. */
export class OpenFiles {
  readonly #limit: number;
  readonly #files = new Map<FollowedFile, FileHandle>();

  constructor(limit = 256) {
    this.#limit = limit;
  }

  get(file: FollowedFile): FileHandle | undefined {
    return this.#files.get(file);
  }

  async keep(file: FollowedFile, handle: FileHandle): Promise<void> {
    this.#files.delete(file);
    this.#files.set(file, handle);
    const [oldest] = this.#files.keys();
    if (this.#files.size > this.#limit && oldest !== undefined) await this.close(oldest);
  }

  async close(file: FollowedFile): Promise<void> {
    const handle = this.#files.get(file);
    this.#files.delete(file);
    await handle?.close();
  }

  async closeAll(): Promise<void> {
    for (const file of [...this.#files.keys()]) await this.close(file);
  }
}

/**
 * Reads the complete lines added to a file since the last call. A file that was truncated, rewritten or replaced is read
 * from the start; the server ignores events that it already has. A file that was renamed is first read to its end.
 */
export class FollowedFile {
  readonly #location: string;
  readonly #open: OpenFiles;
  #offset = 0;
  #inode: number | undefined;
  #size = -1;
  #changedMs = Number.NaN;
  #start: Buffer = Buffer.alloc(0);
  #end: Buffer = Buffer.alloc(0);
  #lines = new Lines();

  constructor(location: string, open: OpenFiles) {
    this.#location = location;
    this.#open = open;
  }

  /** Returns the new lines, or undefined if the file is missing or unreadable. */
  async poll(): Promise<string[] | undefined> {
    const lines: string[] = [];
    try {
      const found = await stat(this.#location).catch(() => undefined);
      if (this.#inode !== undefined && found?.ino !== this.#inode) await this.#readRenamed(lines);
      if (found === undefined) return lines.length > 0 ? lines : undefined;
      if (found.ino !== this.#inode) {
        for (const line of this.#lines.end()) lines.push(line);
        await this.#open.close(this);
        this.#inode = found.ino;
        this.#startOver();
      } else if (found.size === this.#size && found.mtimeMs === this.#changedMs) {
        return lines;
      }
      const handle = await this.#handle();
      if (found.size < this.#offset || (await this.#isRewritten(handle))) this.#startOver();
      await this.#readAll(handle, lines);
      this.#size = found.size;
      this.#changedMs = found.mtimeMs;
    } catch {
      await this.#open.close(this);
      return lines.length > 0 ? lines : undefined;
    }
    return lines;
  }

  /** Releases a file that no longer exists, so that its space is freed. */
  async close(): Promise<void> {
    await this.#open.close(this);
  }

  async #handle(): Promise<FileHandle> {
    const handle = this.#open.get(this) ?? (await open(this.#location, "r"));
    await this.#open.keep(this, handle);
    return handle;
  }

  #startOver(): void {
    this.#offset = 0;
    this.#start = Buffer.alloc(0);
    this.#end = Buffer.alloc(0);
    this.#lines = new Lines();
  }

  /** The rest of the file that no longer has this name. Its writer may have written until it was renamed. */
  async #readRenamed(lines: string[]): Promise<void> {
    const handle = this.#open.get(this);
    if (handle === undefined) return;
    await this.#readAll(handle, lines);
  }

  async #isRewritten(handle: FileHandle): Promise<boolean> {
    const start = await read(handle, 0, this.#start.length);
    const end = await read(handle, this.#offset - this.#end.length, this.#end.length);
    return !start.equals(this.#start) || !end.equals(this.#end);
  }

  async #readAll(handle: FileHandle, lines: string[]): Promise<void> {
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, this.#offset);
      if (bytesRead === 0) return;
      const chunk = buffer.subarray(0, bytesRead);
      this.#offset += bytesRead;
      if (this.#start.length < CHECKED) {
        this.#start = Buffer.concat([this.#start, chunk.subarray(0, CHECKED - this.#start.length)]);
      }
      this.#end = Buffer.concat([this.#end, chunk.subarray(-CHECKED)]).subarray(-CHECKED);
      for (const line of this.#lines.push(chunk)) lines.push(line);
    }
  }
}

async function read(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
