import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PolicyStore } from "../policy-source/options.ts";
import { replaceFile } from "./replace-file.ts";

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
      await replaceFile(at(name), (file) => file.writeFile(text), { mode: 0o600 });
    },
  };
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}
