import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** How much of a recording is read for its last call, in bytes. Claude Code 2.1.331 writes its prompt of 65 kB after a call. */
const TAIL = 1024 * 1024;

/** The end of a recording; empty if it cannot be read. */
export function tailOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, TAIL));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
