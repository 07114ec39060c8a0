import { randomUUID } from "node:crypto";
import { link, open, rename, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Puts a file that only this user can read in the place of another one. It appears whole, and survives a power cut. Follows no
 * link, and opens nothing that was there.
 */
export function replaceFile(path: string, text: string): Promise<void> {
  return writeWhole(path, text, (whole) => rename(whole, path));
}

/** The same where no file is. Of several processes, one makes it. */
export async function makeFile(path: string, text: string): Promise<"made" | "exists"> {
  let outcome: "made" | "exists" = "made";
  await writeWhole(path, text, async (whole) => {
    await link(whole, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      outcome = "exists";
    });
    await unlink(whole);
  });
  return outcome;
}

async function writeWhole(
  path: string,
  text: string,
  place: (whole: string) => Promise<void>,
): Promise<void> {
  const incomplete = `${path}.${randomUUID()}`;
  try {
    await writeFile(incomplete, text, { mode: 0o600, flag: "wx", flush: true });
    await place(incomplete);
  } catch (error) {
    await unlink(incomplete).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes a rename in this folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}
