import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const DEEPEST = 6;
/** Most entries that are read; a folder with more holds recordings of years. */
const MOST = 50_000;

/** When the newest recording of a session was created, in epoch ms. Undefined if there is none. */
export async function newestSession(folder: string): Promise<number | undefined> {
  let newest: number | undefined;
  let seen = 0;
  const visit = async (at: string, depth: number): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      seen += 1;
      if (seen > MOST) return;
      const path = join(at, entry.name);
      if (entry.isDirectory() && depth < DEEPEST) await visit(path, depth + 1);
      if (!entry.isFile() || !/\.jsonl?$/.test(entry.name)) continue;
      const born = await stat(path).then(
        ({ birthtimeMs }) => birthtimeMs,
        () => 0,
      );
      newest = Math.max(newest ?? 0, born);
    }
  };
  await visit(folder, 1);
  return newest;
}
