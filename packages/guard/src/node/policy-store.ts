import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PolicyStore } from "../policy-source/options.ts";

/** Largest file that is read. Bytes. */
const MOST_BYTES = 4_194_304;

/**
 * Keeps the last good policy of each harness as a file in `folder`, readable by its owner only. Several processes may share it.
 * @example
 * const source = policySource({ url, key, harness, guard, reporter, store: filePolicyStore(".plimsoll/policy") });
 */
export function filePolicyStore(folder: string): PolicyStore {
  const at = (name: string) => join(folder, `${encodeURIComponent(name).replaceAll(".", "%2E")}.policy.json`);
  return {
    async read(name) {
      const file = await open(at(name), "r").catch(missing);
      if (file === undefined) return undefined;
      try {
        const { size } = await file.stat();
        if (size > MOST_BYTES) throw new Error(`${at(name)} has ${size} bytes. Remove it`);
        return await readFile(file, "utf8");
      } finally {
        await file.close();
      }
    },
    async write(name, text) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = `${at(name)}.${process.pid}-${crypto.randomUUID().slice(0, 8)}.tmp`;
      try {
        await writeDurably(draft, text);
        await rename(draft, at(name));
      } catch (error) {
        await rm(draft, { force: true }).catch(() => {});
        throw error;
      }
      await syncFolder(folder);
    },
  };
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  // The mode of open() is narrowed by the umask, never widened; a file system may ignore it.
  await chmod(path, 0o600);
}

/** A rename survives a power failure only when its folder was synced. Windows cannot open folders. */
async function syncFolder(folder: string): Promise<void> {
  const opened = await open(folder, "r").catch(() => undefined);
  try {
    await opened?.sync().catch(() => {});
  } finally {
    await opened?.close();
  }
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}
