import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: "ignore" });

const UNSHARE = "unshare";

/** Runs a shell command as root in a mount namespace of its own. @returns what it printed */
export const inMountNamespace = (command: string, env: Record<string, string> = {}): string =>
  execFileSync(UNSHARE, ["-m", "sh", "-c", command], { env: { ...process.env, ...env } }).toString();

/** True where a disk can be mounted: only as root on Linux, and not in every container. */
export const canMount =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  (() => {
    try {
      run("unshare", "-m", "true");
      return true;
    } catch {
      return false;
    }
  })();

export interface SmallDisk {
  /** A folder on the disk for a Plimsoll home. The test creates it. */
  home: string;
  /** Takes all the space that is left. */
  fill(): void;
  /** Gives the space back. */
  free(): Promise<void>;
  unmount(): Promise<void>;
}

/** Mounts a disk of 200 MB in memory: a new database takes about 60. For tests. */
export async function smallDisk(): Promise<SmallDisk> {
  const disk = await mkdtemp(join(tmpdir(), "plimsoll-disk-"));
  run("mount", "-t", "tmpfs", "-o", "size=200m,mode=711", "tmpfs", disk);
  const filler = join(disk, "filler");
  return {
    home: join(disk, "home"),
    fill() {
      const block = Buffer.alloc(65_536);
      try {
        for (;;) appendFileSync(filler, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    },
    free: () => rm(filler, { force: true }),
    async unmount() {
      run("umount", "--lazy", disk);
      await rm(disk, { recursive: true, force: true });
    },
  };
}
