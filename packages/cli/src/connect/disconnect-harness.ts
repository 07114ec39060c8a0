import { readFile, rm } from "node:fs/promises";
import { CONNECTABLE_HARNESSES } from "@plimsoll/harnesses/connect";
import { pathText } from "@plimsoll/harnesses/fields";
import { KeyView } from "@plimsoll/protocol/api";
import { z } from "zod";
import { parseSettings } from "../bridge/edit/edit.ts";
import { readSettingsFile, replaceSettingsFile } from "../bridge/settings-file.ts";
import { editedText, undo } from "../bridge/settings-session.ts";
import { createClient } from "../client.ts";
import type { CommandContext } from "../command-context.ts";
import { connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { machineOf } from "../origin/machine.ts";
import { printable } from "../terminal.ts";
import { explained } from "./connect-harness.ts";
import { type PathQuery, pathOf, variablesFolder } from "./harness-paths.ts";
import { clientOf, dropKey } from "./key.ts";
import { type ConnectionTraces, commandEdits, leftoverEdits, tracesIn } from "./leftovers.ts";
import { readNamed } from "./plan.ts";
import { type ConnectionRecord, removeRecord } from "./record.ts";

/** A connection of this machine. */
export interface KnownConnection {
  folder: string;
  record: ConnectionRecord;
}

const FORMATS = new Map(
  CONNECTABLE_HARNESSES.flatMap(({ family, files }) =>
    files({ url: "", key: "", host: "" }).map(({ id, format }) => [`${family}/${id}`, format] as const),
  ),
);

/**
 * Puts back what a connection changed and revokes its key. Edits of somebody else stay.
 * @param keepKey leaves the key as it is
 * @throws CliError if a file cannot be read or written; the connection is then still known
 */
export async function disconnectHarness(
  { folder, record }: KnownConnection,
  home: string,
  keepKey: boolean,
  context: CommandContext,
): Promise<void> {
  const { out } = context;
  try {
    // The shell's function goes first, because it uses the file with variables.
    for (const { id, path } of [...record.files].reverse()) {
      const format = FORMATS.get(`${record.family}/${id}`)!;
      const owner = { family: record.family, format };
      await restore(owner, await readNamed(owner, path, home), path, context);
    }
  } catch (error) {
    throw explained(error);
  }
  if (!keepKey) await revoke(record, context);
  await removeRecord(folder);
  out.write(`Disconnected ${nameOf(record)}.\n`);
}

/**
 * Takes a connection out of the settings of a harness that no record here knows: the record was deleted, or another PLIMSOLL_HOME
 * wrote it.
 * @param undone files whose connection was undone already
 * @returns whether there was one
 * @throws CliError if a file cannot be read or written
 */
export async function disconnectUnrecorded(
  query: PathQuery,
  undone: ReadonlySet<string>,
  context: CommandContext,
  keepKey: boolean,
): Promise<boolean> {
  const { harness, home } = query;
  const { out } = context;
  const folder = variablesFolder(home);
  try {
    const readings = [];
    for (const { id, format } of harness.files({ url: "", key: "", host: "", folder })) {
      const path = pathOf(id, query);
      readings.push({
        id,
        format,
        path,
        reading: await readNamed({ family: harness.family, format }, path, home),
      });
    }
    if (readings.some(({ reading }) => undone.has(reading.file.realPath))) return false;
    const traces = tracesIn(
      readings.map(({ reading }) => reading.settings),
      machineOf(context.env),
    );
    let isFound = false;
    for (const { id, format, path, reading } of readings.reverse()) {
      if (reading.journal !== undefined) {
        isFound = true;
        await restore({ family: harness.family, format }, reading, path, context);
        continue;
      }
      const edits = leftoverEdits(harness, id, reading.settings, traces, folder);
      if (edits.length === 0) continue;
      isFound = true;
      const text = editedText({ format }, reading.file, edits);
      await replaceSettingsFile(reading.file, text.trim() === "" || text.trim() === "{}" ? undefined : text);
      out.write(
        `Took what connect writes out of ${printable(path)}, by its values: no record of it is left.\n`,
      );
    }
    if (isFound && !keepKey) await revokeSeen(traces, context);
    return isFound;
  } catch (error) {
    throw explained(error);
  }
}

/** Of a key without a record only its text is known. */
async function revokeSeen({ keys }: ConnectionTraces, context: CommandContext): Promise<void> {
  for (const key of keys) {
    const client = createClient(await connect({}, context.env));
    const known = await client.query("keys.list", undefined, KeyList).catch(() => ({ keys: [] }));
    const found = known.keys.find(({ prefix, revoked_at }) => revoked_at === null && key.startsWith(prefix));
    const shown = printable(found?.prefix ?? key.slice(0, SHOWN_OF_A_KEY));
    if (found !== undefined && (await dropKey(client, found.id)))
      context.out.write(`Revoked the key ${shown}.\n`);
    else
      context.out.write(
        `The key ${shown} may still work. Revoke it with: npx plimsoll key revoke ${shown}\n`,
      );
  }
}

const KeyList = z.object({ keys: z.array(KeyView) });
/** As long as a prefix in the list of keys. */
const SHOWN_OF_A_KEY = 12;

export const nameOf = ({ family }: Pick<ConnectionRecord, "family">) =>
  CONNECTABLE_HARNESSES.find((harness) => harness.family === family)?.name ?? printable(family);

async function restore(
  { family, format }: Parameters<typeof readNamed>[0],
  reading: Awaited<ReturnType<typeof readNamed>>,
  path: string,
  { out }: CommandContext,
): Promise<void> {
  const { journal } = reading;
  const result = await undo({ format }, reading);
  if (result === undefined) {
    out.write(`${printable(path)} holds nothing of this connection.\n`);
    return;
  }
  for (const { path: key, found } of result.kept) {
    const what = found === undefined ? "removed" : "changed";
    out.write(`${printable(`Kept ${pathText({ path: key })} in ${path}: somebody ${what} it since.`)}\n`);
  }
  if (result.kept.length > 0 && (await dropCommands({ family, format }, path)))
    out.write(`Took the commands of Plimsoll out of ${printable(path)}.\n`);
  if (result.removed) out.write(`Removed ${printable(path)}, which the connection had created.\n`);
  else if (result.restored.length > 0) out.write(`Restored ${printable(path)}.\n`);
  const backup = journal?.backup;
  if (backup == null) return;
  const [before, after] = await Promise.all(
    [backup, path].map((file) => readFile(file, "utf8").catch(() => undefined)),
  );
  if (before === after) await rm(backup, { force: true });
  else if (before !== undefined)
    out.write(`Kept the copy ${printable(backup)}, because the file was changed since.\n`);
}

/** Takes them out of settings that a person changed, such as a hook in a list with one of theirs. */
async function dropCommands(
  { family, format }: Parameters<typeof readNamed>[0],
  path: string,
): Promise<boolean> {
  const file = await readSettingsFile(path);
  const edits = commandEdits(family, parseSettings(format, file.text ?? ""));
  if (edits.length > 0) await replaceSettingsFile(file, editedText({ format }, file, edits));
  return edits.length > 0;
}

async function revoke(record: ConnectionRecord, context: CommandContext): Promise<void> {
  const { key, url } = record;
  if (key === null) return;
  const client = await clientOf(record, context).catch((error: unknown) => {
    if (error instanceof CliError) return undefined;
    throw error;
  });
  if (client !== undefined && (await dropKey(client, key.id)))
    context.out.write(`Revoked the key ${printable(key.prefix)}.\n`);
  else
    context.out.write(
      `The key ${printable(key.prefix)} could not be revoked at ${printable(url)}. Revoke it there with: npx plimsoll key revoke ${printable(key.id)}\n`,
    );
}
