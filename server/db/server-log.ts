import { constants, openSync } from "node:fs";
import { copyFile, open, stat, truncate } from "node:fs/promises";

/** Bytes after which the log is turned over. With the one older copy, twice this is kept. */
export const LOG_LIMIT = 4 * 1024 * 1024;

/**
 * Opens the log for a server process to write to: appending, so that it can be truncated under the writer,
 * and closed to other users.
 */
export function openServerLog(path: string): number {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  return openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
}

/**
 * Keeps the log bounded. PostgreSQL's own collector can bound files by age only, and a pipe through us
 * would break when we die, so the file is copied and cut while it is being written to. A few lines
 * written in between may be lost.
 */
export async function boundServerLog(path: string, limit = LOG_LIMIT): Promise<void> {
  const size = await logSize(path);
  if (size <= limit) return;
  await copyFile(path, `${path}.1`);
  await truncate(path, 0);
}

/** Bytes; 0 when there is no log yet. */
export async function logSize(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** What was written since `offset` bytes, at most the last 4 KB of it. */
export async function readLogSince(path: string, offset: number): Promise<string> {
  const file = await open(path, "r").catch(() => undefined);
  if (!file) return "";
  try {
    const { size } = await file.stat();
    const start = Math.max(size < offset ? 0 : offset, size - 4096);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    return buffer.subarray(0, bytesRead).toString("utf8").trim();
  } finally {
    await file.close();
  }
}
