import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { BackupError } from "@plimsoll/protocol/backup";
import { Decrypter, Encrypter } from "age-encryption";
import type { CommandContext } from "../command-context.ts";
import { CliError, messageOf } from "../errors.ts";

/** Every file of age begins with it. */
const AGE_MAGIC = "age-encryption.org/v1\n";
/** The part of a file's beginning that says how it is encrypted. */
export const AGE_HEAD_BYTES = AGE_MAGIC.length + "-> scrypt ".length;
const LEAST_PASSPHRASE = 8;

export interface SecretFlags {
  passphraseFile?: string;
  /** Asks for a passphrase. */
  encrypt?: boolean;
  /** Public keys of age. */
  recipient?: string[];
  /** A file with private keys of age. */
  identity?: string;
}

/** How a new backup is encrypted. */
export interface Encryption {
  encrypter: Encrypter;
  /** Number of public keys; undefined for a passphrase. */
  recipients: number | undefined;
}

/** How a file is encrypted, by its first bytes. */
export type EncryptedWith = "passphrase" | "keys" | undefined;

export function lockOf(head: Uint8Array): EncryptedWith {
  const text = Buffer.from(head).toString("latin1");
  if (!text.startsWith(AGE_MAGIC)) return undefined;
  return text.startsWith("-> scrypt ", AGE_MAGIC.length) ? "passphrase" : "keys";
}

/**
 * Returns undefined for a backup that is not encrypted.
 * @throws CliError if the flags contradict each other, or name a key or a file that cannot be used
 */
export async function chooseEncryption(
  flags: SecretFlags,
  context: CommandContext,
): Promise<Encryption | undefined> {
  const { recipient: recipients = [] } = flags;
  const encrypter = new Encrypter();
  if (recipients.length > 0) {
    if (flags.passphraseFile !== undefined || flags.encrypt)
      throw new CliError("A file is encrypted either for recipients or with a passphrase.");
    for (const recipient of recipients) addRecipient(encrypter, recipient);
    return { encrypter, recipients: recipients.length };
  }
  const passphrase =
    (await givenPassphrase(flags, context)) ?? (flags.encrypt ? await askTwice(context) : undefined);
  if (passphrase === undefined) return undefined;
  if (passphrase.length < LEAST_PASSPHRASE) {
    throw new CliError(`A passphrase needs at least ${LEAST_PASSPHRASE} characters.`, {
      hint: "Five random words are easy to keep and hard to guess.",
    });
  }
  encrypter.setPassphrase(passphrase);
  return { encrypter, recipients: undefined };
}

async function askTwice(context: CommandContext): Promise<string> {
  const passphrase = await ask(context, "Passphrase: ");
  if ((await ask(context, "The same again: ")) === passphrase) return passphrase;
  throw new CliError("The two passphrases differ. Nothing was written.");
}

/** @throws CliError if what opens the file is neither given nor asked for */
export async function chooseDecrypter(
  lock: Exclude<EncryptedWith, undefined>,
  flags: SecretFlags,
  context: CommandContext,
): Promise<Decrypter> {
  const decrypter = new Decrypter();
  if (lock === "passphrase") {
    decrypter.addPassphrase((await givenPassphrase(flags, context)) ?? (await ask(context, "Passphrase: ")));
    return decrypter;
  }
  if (flags.identity === undefined) {
    throw new CliError("The backup is encrypted for a key of age.", {
      hint: "Name the file with the private key: --identity key.txt",
    });
  }
  const lines = (await textOf(flags.identity)).split("\n").map((line) => line.trim());
  const identities = lines.filter((line) => line !== "" && !line.startsWith("#"));
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
    } catch (cause) {
      throw new CliError(`${flags.identity} holds no private key of age (AGE-SECRET-KEY-1…).`, { cause });
    }
  }
  return decrypter;
}

/** Encrypts as fast as the result is taken. */
export async function encrypted(
  bytes: AsyncIterable<Uint8Array>,
  { encrypter }: Encryption,
): Promise<AsyncIterable<Uint8Array>> {
  return Readable.fromWeb((await encrypter.encrypt(webStream(bytes))) as never);
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient);
  } catch (cause) {
    throw new CliError(`${JSON.stringify(recipient)} is no public key of age (age1…).`, { cause });
  }
}

/** Yields what the file held before it was encrypted. Every byte has been authenticated. */
export async function* decrypted(
  bytes: AsyncIterable<Uint8Array>,
  decrypter: Decrypter,
  lock: Exclude<EncryptedWith, undefined>,
): AsyncGenerator<Uint8Array> {
  let read = false;
  try {
    for await (const part of Readable.fromWeb((await decrypter.decrypt(webStream(bytes))) as never)) {
      read = true;
      yield part as Uint8Array;
    }
  } catch (error) {
    if (error instanceof CliError || isSystemError(error)) throw error;
    if (!read && /no identity matched/.test(messageOf(error))) {
      throw new CliError(
        lock === "passphrase"
          ? "The passphrase is wrong."
          : "None of the private keys opens the backup: it was encrypted for others.",
        { cause: error },
      );
    }
    throw new BackupError("altered", "The encrypted file is damaged: it was cut short or changed.", {
      cause: error,
    });
  }
}

const webStream = (bytes: AsyncIterable<Uint8Array>) =>
  Readable.toWeb(Readable.from(bytes)) as unknown as ReadableStream<Uint8Array>;

const isSystemError = (error: unknown) => typeof (error as NodeJS.ErrnoException).syscall === "string";

/** From a file, or from the environment. */
async function givenPassphrase(flags: SecretFlags, { env }: CommandContext): Promise<string | undefined> {
  if (flags.passphraseFile === undefined) return env.PLIMSOLL_BACKUP_PASSPHRASE || undefined;
  const passphrase = (await textOf(flags.passphraseFile)).split(/\r?\n/, 1)[0]!;
  if (passphrase === "") throw new CliError(`The first line of ${flags.passphraseFile} is empty.`);
  return passphrase;
}

async function ask(context: CommandContext, question: string): Promise<string> {
  const answer = await context.ask?.(question, { hidden: true });
  if (answer !== undefined) return answer;
  throw new CliError("A passphrase is needed, and there is no terminal to ask for it.", {
    hint: "Use --passphrase-file, or set PLIMSOLL_BACKUP_PASSPHRASE.",
  });
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CliError(`Cannot read ${path}: ${messageOf(cause)}.`, { cause });
  }
}
