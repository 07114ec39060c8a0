import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const DEEPEST = 6;
/** Most entries that are read; a folder with more holds recordings of years. */
const MOST = 50_000;
/** How many of the newest recordings are named. */
const MOST_LATEST = 4;

/** The recordings in a folder. */
export interface SessionFiles {
  /** When the newest one was created, in epoch ms. Undefined if there is none. */
  createdAt: number | undefined;
  /** Paths of those that were written last, newest first. */
  latest: readonly string[];
}

/** @param part what their names contain */
export async function sessionFiles(folder: string, part = ""): Promise<SessionFiles> {
  let createdAt: number | undefined;
  let latest: { path: string; at: number }[] = [];
  await eachRecording(folder, part, (path, { birthtimeMs, mtimeMs }) => {
    createdAt = Math.max(createdAt ?? 0, birthtimeMs);
    latest = [...latest, { path, at: mtimeMs }].sort((a, b) => b.at - a.at).slice(0, MOST_LATEST);
  });
  return { createdAt, latest: latest.map(({ path }) => path) };
}

/** Paths of the recordings in a folder that were written at a time or later, in epoch ms; the newest first. */
export async function writtenSince(folder: string, since: number): Promise<string[]> {
  const found: { path: string; at: number }[] = [];
  await eachRecording(folder, "", (path, { mtimeMs }) => {
    if (mtimeMs >= since) found.push({ path, at: mtimeMs });
  });
  return found.sort((a, b) => b.at - a.at).map(({ path }) => path);
}

async function eachRecording(
  folder: string,
  part: string,
  visitFile: (path: string, file: Stats) => void,
): Promise<void> {
  let seen = 0;
  const visit = async (at: string, depth: number): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      seen += 1;
      if (seen > MOST) return;
      const path = join(at, entry.name);
      if (entry.isDirectory() && depth < DEEPEST) await visit(path, depth + 1);
      if (!entry.isFile() || !/\.jsonl?$/.test(entry.name) || !entry.name.includes(part)) continue;
      const file = await stat(path).catch(() => undefined);
      if (file !== undefined) visitFile(path, file);
    }
  };
  await visit(folder, 1);
}
