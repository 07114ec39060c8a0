import { lstat } from "node:fs/promises";
import { readRegularFile } from "../../regular-file.ts";
import { replaceFile } from "../../whole-file.ts";
import { absentOr, type Past, systemIdentifier } from "./cluster-files.ts";
import type { HomeLayout } from "./layout.ts";

/** A record that was cut short lacks the line feed. */
const RECORD = /^(\d{1,20})\n$/;

/**
 * Reads what shows that a home has had a database; undefined if nothing does. Call it before you look for the database: another
 * process may create both.
 * @throws PlimsollError `data_folder_unwritable`, `data_folder_damaged` for a file it cannot read
 */
export async function readPast({ record, localToken }: HomeLayout): Promise<Past | undefined> {
  const found = await readRegularFile(record).catch(absentOr(record));
  if (found?.is === "text") return { file: record, id: RECORD.exec(found.text)?.[1] };
  if (found?.is === "irregular") return { file: record, id: undefined };
  // Versions without a record make the token too, once their database is ready.
  const token = await lstat(localToken).catch(absentOr(localToken));
  return token && { file: localToken, id: undefined };
}

/** Records which database the home has. */
export async function recordDatabase(layout: HomeLayout): Promise<void> {
  await replaceFile(layout.record, `${await systemIdentifier(layout)}\n`);
}
