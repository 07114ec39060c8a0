import { readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { writeRecordFile } from "../bridge/journal.ts";
import { REPOSITORY_MODES } from "../origin/repository.ts";

const ConnectionRecord = z.object({
  version: z.literal(1),
  family: z.string(),
  scope: z.enum(["user", "project"]),
  /** Base URL of the server. */
  url: z.string(),
  /** Name or id of the Plimsoll project, as it was given; null for the default or that of a key. */
  project: z.string().nullable(),
  /** The key that was made for this connection; null if it was given. Never the secret. */
  key: z.object({ id: z.string(), prefix: z.string() }).nullable(),
  /** Name of this machine in the settings. */
  host: z.string(),
  /** How its hooks name the repository of a session; not at all by default. */
  repository: z.enum(REPOSITORY_MODES).optional(),
  /** Port of the forwarder on loopback, if the harness reports through one. */
  forwardPort: z.number().int().optional(),
  /** Files that its hooks and its status line start, if it has any. */
  program: z.array(z.string()).optional(),
  files: z.array(z.object({ id: z.enum(["settings", "env", "variables", "profile"]), path: z.string() })),
  /** Epoch ms of the last change. */
  at: z.number(),
});
/** What `plimsoll connect` remembers of one connection. */
export type ConnectionRecord = z.infer<typeof ConnectionRecord>;

const NAME = "connection.json";

/** The folder of a connection with `--project`, behind links: its settings are in a folder there. */
export const projectFolder = ({ scope, files }: ConnectionRecord): string | undefined =>
  scope === "project" ? dirname(dirname(files[0]!.path)) : undefined;

/** @returns undefined if there is none, or it is damaged */
export async function readRecord(folder: string): Promise<ConnectionRecord | undefined> {
  try {
    return ConnectionRecord.parse(JSON.parse(await readFile(join(folder, NAME), "utf8")));
  } catch {
    return undefined;
  }
}

/** @throws {SettingsFileError} `unsafe_folder` */
export const writeRecord = (folder: string, record: ConnectionRecord): Promise<void> =>
  writeRecordFile(folder, NAME, record);

/** What a forwarder of the connection has not sent yet. It holds the key, as the settings do. */
export const spoolFolder = (folder: string) => join(folder, "spool");

/** Removes the record, and what a forwarder has not sent: the key that it would need is revoked. */
export async function removeRecord(folder: string): Promise<void> {
  await rm(join(folder, NAME), { force: true });
  await rm(spoolFolder(folder), { recursive: true, force: true });
}

/** Every connection of this PLIMSOLL_HOME, with its folder. */
export async function allRecords(home: string): Promise<{ folder: string; record: ConnectionRecord }[]> {
  const parent = join(home, "connect");
  const names = await readdir(parent).catch(() => []);
  const found = [];
  for (const name of names.sort()) {
    const folder = join(parent, name);
    const record = await readRecord(folder);
    if (record !== undefined) found.push({ folder, record });
  }
  return found;
}
