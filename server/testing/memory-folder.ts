import { readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const SHARED_MEMORY = "/dev/shm";

/** Bytes that the databases and homes of a whole run may take. */
const ROOM = 6 * 2 ** 30;

/**
 * Where tests keep their temporary files: in memory if there is room, because databases that are created, synced and dropped
 * by the hundred take a third of a run on a disk.
 */
export function memoryFolder(): string {
  try {
    // In containers, it is often small, and programs in it may not run.
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .find((line) => line.split(" ")[1] === SHARED_MEMORY);
    if (mount === undefined || mount.split(" ")[3]!.split(",").includes("noexec")) return tmpdir();
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    return bavail * bsize >= ROOM ? SHARED_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
