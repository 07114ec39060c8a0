import { open as openFile } from "node:fs/promises";
import { BackupError, RestoreResult } from "@plimsoll/protocol/backup";
import type { Command } from "commander";
import { Option } from "commander";
import { type CommandContext, withServer } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError, messageOf } from "../errors.ts";
import { plural } from "../number-format.ts";
import { printable } from "../terminal.ts";
import {
  AGE_HEAD_BYTES,
  chooseDecrypter,
  chooseEncryption,
  decrypted,
  type Encryption,
  encrypted,
  lockOf,
  type SecretFlags,
} from "./encryption.ts";
import { type Inspection, inspected } from "./inspect.ts";
import { writeNewFile } from "./new-file.ts";
import { Interrupted, receive, send } from "./transfer.ts";

type BackupFlags = ConnectionFlags & SecretFlags & { force?: boolean; check?: boolean };
type RestoreFlags = ConnectionFlags & SecretFlags & { yes?: boolean };

const SECRETS = `
A passphrase comes from --passphrase-file, from PLIMSOLL_BACKUP_PASSPHRASE, or from the terminal.
Encrypted files are files of age (https://age-encryption.org), so \`age --decrypt\` opens them too.`;

export function addBackupCommands(program: Command, context: CommandContext): void {
  const passphraseFile = () =>
    new Option("--passphrase-file <path>", "file whose first line is the passphrase");
  const identity = () => new Option("--identity <path>", "file with the private key (AGE-SECRET-KEY-1…)");

  withServer(program.command("backup"))
    .description("Write all projects of the server to a file, without stopping it")
    .argument("[file]", "default: plimsoll-<date>T<time, UTC>.backup in the current folder")
    .option("--encrypt", "encrypt with a passphrase, and ask for it")
    .addOption(passphraseFile())
    .option(
      "--recipient <age1…>",
      "encrypt for a public key; can be repeated",
      (key, keys: string[] = []) => [...keys, key],
    )
    .option("--force", "replace the file if it exists")
    .option("--check", "verify an existing backup instead of making one")
    .addOption(identity())
    .addHelpText(
      "after",
      `
Examples:
  npx plimsoll backup
  npx plimsoll backup /mnt/usb/plimsoll.backup --encrypt
  npx plimsoll backup --recipient age1…                 nobody can open it without the private key
  npx plimsoll backup --check plimsoll-2026-11-23T0400.backup
${SECRETS}`,
    )
    .action(async (file: string | undefined, flags: BackupFlags) => {
      if (flags.check) await check(file, flags, context);
      else await backup(file ?? defaultName(context.now()), flags, context);
    });

  withServer(program.command("restore"))
    .description("Restore a backup into an empty server; it is restored whole or not at all")
    .argument("<file>", "a file that plimsoll backup wrote")
    .option("-y, --yes", "do not ask for confirmation")
    .addOption(passphraseFile())
    .addOption(identity())
    .addHelpText("after", SECRETS)
    .action((file: string, flags: RestoreFlags) => restore(file, flags, context));
}

const defaultName = (now: number) =>
  `plimsoll-${new Date(now).toISOString().slice(0, 16).replaceAll(":", "")}.backup`;

async function backup(path: string, flags: BackupFlags, context: CommandContext): Promise<void> {
  const connection = await connect(flags, context.env);
  const encryption = await chooseEncryption(flags, context);
  const signal = context.untilStopped();
  const inspection = newInspection();
  const progress = progressLine(context, "Received");
  await explained("Nothing was written.", signal, async () => {
    await writeNewFile(path, { force: flags.force === true }, async (file) => {
      const plain = inspected(await receive(connection, "/api/v1/backup", signal), inspection, progress.show);
      const bytes = encryption === undefined ? plain : await encrypted(plain, encryption);
      for await (const part of bytes) await file.appendFile(part);
    });
  }).finally(progress.clear);
  context.out.write(`Wrote ${path}: ${summary(inspection)}.\n${secrecy(encryption)}\n`);
}

function secrecy(encryption: Encryption | undefined): string {
  if (encryption === undefined) return "It is not encrypted. Only your user can read it (mode 0600).";
  const { recipients } = encryption;
  if (recipients === undefined)
    return "It is encrypted. Keep the passphrase elsewhere: nobody can open the backup without it.";
  return `It is encrypted for ${plural(recipients, "public key")}. Keep the private key elsewhere.`;
}

async function check(path: string | undefined, flags: BackupFlags, context: CommandContext): Promise<void> {
  if (path === undefined) throw new CliError("Name the backup to verify: npx plimsoll backup --check <file>");
  const inspection = await verify(path, await opener(path, flags, context), context);
  context.out.write(`${path} is whole: ${summary(inspection)}.\n`);
}

async function restore(path: string, flags: RestoreFlags, context: CommandContext): Promise<void> {
  const connection = await connect(flags, context.env);
  const read = await opener(path, flags, context);
  const inspection = await verify(path, read, context);
  context.out.write(`${path}: ${summary(inspection)}.\n`);
  if (!flags.yes) await confirm(connection.url, context);
  const signal = context.untilStopped();
  const progress = progressLine(context, "Sent");
  const sent = newInspection();
  const text = await explained("Nothing was restored.", signal, async () => {
    try {
      return await send(connection, "/api/v1/restore", inspected(read(), sent, progress.show), signal);
    } catch (error) {
      const left = error instanceof Interrupted || signal.aborted;
      if (!left || sent.bytes < inspection.bytes) throw error;
      throw new CliError(
        "The connection ended after the whole backup was sent, and before the server answered.",
        {
          hint: "Run npx plimsoll project list to see whether it was restored.",
          cause: error,
        },
      );
    }
  }).finally(progress.clear);
  const { projects, sessions, turns, waiting_events } = RestoreResult.parse(JSON.parse(text));
  const waiting = waiting_events === 0 ? "" : `; ${plural(waiting_events, "event")} more being projected`;
  context.out.write(
    `Restored ${plural(projects, "project")}, ${plural(sessions, "session")} and ${plural(turns, "turn")}${waiting}.\n`,
  );
}

async function confirm(url: string, { ask }: CommandContext): Promise<void> {
  if (ask === undefined) {
    throw new CliError("Restoring needs a confirmation, and there is no terminal to ask for it.", {
      hint: "Add --yes.",
    });
  }
  const answer = await ask(`Restore it into ${url}, which must be empty? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("Nothing was restored.");
}

/** Opens a backup as often as it is asked. Asks for its secret once. */
async function opener(
  path: string,
  flags: SecretFlags,
  context: CommandContext,
): Promise<() => AsyncIterable<Uint8Array>> {
  const lock = lockOf(await headOf(path));
  if (lock === undefined) return () => bytesOf(path);
  const decrypter = await chooseDecrypter(lock, flags, context);
  return () => decrypted(bytesOf(path), decrypter, lock);
}

/** @throws CliError unless the backup is whole */
async function verify(
  path: string,
  read: () => AsyncIterable<Uint8Array>,
  context: CommandContext,
): Promise<Inspection> {
  const inspection = newInspection();
  const progress = progressLine(context, "Read");
  try {
    for await (const _ of inspected(read(), inspection, progress.show));
  } catch (error) {
    if (error instanceof CliError || error instanceof BackupError)
      throw new CliError(`${path}: ${error.message}`, { cause: error });
    throw error;
  } finally {
    progress.clear();
  }
  return inspection;
}

async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await opened(path);
  // Closed by the stream.
  yield* file.createReadStream({ highWaterMark: 256 * 1024 }) as AsyncIterable<Uint8Array>;
}

async function headOf(path: string): Promise<Uint8Array> {
  const file = await opened(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(AGE_HEAD_BYTES), 0, AGE_HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw new CliError(`Cannot read ${path}: ${messageOf(cause)}.`, { cause });
  } finally {
    await file.close();
  }
}

async function opened(path: string) {
  try {
    return await openFile(path);
  } catch (cause) {
    throw new CliError(`Cannot read ${path}: ${messageOf(cause)}.`, { cause });
  }
}

/** Says what became of the work if it is interrupted or fails on the way. */
async function explained<T>(outcome: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (signal.aborted) throw new CliError(`Stopped. ${outcome}`, { cause: error });
    if (error instanceof Interrupted) {
      throw new CliError(`The server ended the connection on the way. ${outcome}`, {
        hint: "The server's log says why. Is it still running?",
        cause: error,
      });
    }
    if (error instanceof BackupError) throw new CliError(`${error.message} ${outcome}`, { cause: error });
    throw error;
  }
}

const newInspection = (): Inspection => ({ rows: new Map(), bytes: 0 });

function summary({ manifest, rows, bytes }: Inspection): string {
  const total = [...rows.values()].reduce((sum, count) => sum + count, 0);
  const { plimsoll = "", created_at = "" } = manifest ?? {};
  const things = `${plural(rows.get("projects") ?? 0, "project")}, ${plural(rows.get("sessions") ?? 0, "session")}`;
  return `${things}, ${plural(total, "row")}, ${megabytes(bytes)}, made by Plimsoll ${printable(plimsoll)} at ${created_at}`;
}

const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`;

const SHOW_EVERY_MS = 100;

/** How far a transfer is, on a terminal. */
function progressLine({ err, now }: CommandContext, verb: string) {
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show({ bytes, rows, manifest }: Inspection): void {
      if (!err.isTty || now() - shownAt < SHOW_EVERY_MS) return;
      shownAt = now();
      const tables = manifest === undefined ? "" : `, ${rows.size} of ${manifest.tables.length} tables`;
      err.write(`\r${verb} ${megabytes(bytes)}${tables}\u001b[K`);
    },
    clear(): void {
      if (err.isTty) err.write("\r\u001b[K");
    },
  };
}
