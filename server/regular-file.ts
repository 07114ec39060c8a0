import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

// Windows has neither flag.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** `irregular`: a link, folder, FIFO, socket or device, or a file above the limit. */
export type FileText = { is: "text"; text: string } | { is: "absent" | "irregular" };

/**
 * Opens a file that another user may have replaced: without following a link, and without waiting for the writer
 * of a FIFO. Closes it afterwards.
 * @returns what `use` returns; `absent` or `irregular` if there is no regular file
 */
export async function withRegularFile<T>(
  path: string,
  use: (file: FileHandle, stats: Stats) => Promise<T>,
): Promise<T | "absent" | "irregular"> {
  let file: FileHandle;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return "absent";
    // A link (EMLINK on FreeBSD), and a socket.
    if (["ELOOP", "EMLINK", "ENXIO"].includes(code)) return "irregular";
    throw error;
  }
  try {
    const stats = await file.stat();
    return stats.isFile() ? await use(file, stats) : "irregular";
  } finally {
    await file.close();
  }
}

/** Reads a small text file that another user may have replaced. @param limit bytes */
export async function readRegularFile(path: string, limit = 65_536): Promise<FileText> {
  const found = await withRegularFile<FileText>(path, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(limit + 1), 0, limit + 1, 0);
    if (bytesRead > limit) return { is: "irregular" };
    return { is: "text", text: buffer.subarray(0, bytesRead).toString("utf8") };
  });
  return typeof found === "string" ? { is: found } : found;
}
