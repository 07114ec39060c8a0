import { constants, openSync } from "node:fs";
import { open, stat, truncate } from "node:fs/promises";

/** Bytes after which the log is rotated. One older copy is kept. */
export const LOG_LIMIT = 4 * 1024 * 1024;

/**
 * Opens the log for a server process: in append mode, so that it can be truncated while the server writes, and
 * readable for the owner only.
 */
export function openServerLog(path: string): number {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  return openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
}

/**
 * Rotates the log when it is too large. PostgreSQL's collector limits files by age only, and a pipe through this
 * process would break when it dies. Lines written between the copy and the truncation are lost. The copy has at most
 * twice the limit: PostgreSQL's user can make the log as long as it likes.
 */
export async function boundServerLog(path: string, limit = LOG_LIMIT): Promise<void> {
  const size = await logSize(path);
  if (size <= limit) return;
  const { O_CREAT, O_TRUNC, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  const kept = Math.min(size, 2 * limit);
  const log = await open(path, "r");
  try {
    const { buffer, bytesRead } = await log.read(Buffer.alloc(kept), 0, kept, size - kept);
    const older = await open(`${path}.1`, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW, 0o600);
    await older.writeFile(buffer.subarray(0, bytesRead)).finally(() => older.close());
  } finally {
    await log.close();
  }
  await truncate(path, 0);
}

/** Size in bytes; 0 when there is no log. */
export async function logSize(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** The text written after the first `offset` bytes, at most the last 4 KB. */
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
