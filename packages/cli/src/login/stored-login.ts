import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeRecordFile } from "../bridge/journal.ts";
import { CliError } from "../errors.ts";

const StoredKey = z.object({ id: z.string(), name: z.string(), secret: z.string() });

const StoredLogin = z.object({
  version: z.literal(1),
  /** Base URL of the server. */
  url: z.string(),
  /** Name of the project that both keys belong to. */
  project: z.string(),
  /** For commands. */
  key: StoredKey,
  /** For the settings of harnesses; it only sends. */
  ingest_key: StoredKey,
});
/** What `plimsoll login <url>` keeps in PLIMSOLL_HOME, readable only by its owner. */
export type StoredLogin = z.infer<typeof StoredLogin>;

const NAME = "login.json";

/**
 * @returns undefined if this machine is not logged in
 * @throws CliError if the file is damaged: without it, a command would go to another server
 */
export async function readLogin(home: string): Promise<StoredLogin | undefined> {
  const path = join(home, NAME);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`The file ${path} cannot be read (${code}).`, {
      hint: "It holds this machine's login. Give this user access to it, or delete it.",
    });
  }
  try {
    return StoredLogin.parse(JSON.parse(text));
  } catch {
    throw new CliError(`The file ${path} is damaged.`, {
      hint: "Delete it, and log in again with: npx plimsoll login <url>",
    });
  }
}

/** @throws SettingsFileError `unsafe_folder`, or the system's error */
export const writeLogin = (home: string, login: Omit<StoredLogin, "version">): Promise<void> =>
  writeRecordFile(home, NAME, { version: 1, ...login } satisfies StoredLogin);

export const forgetLogin = (home: string): Promise<void> => rm(join(home, NAME), { force: true });
