import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { join } from "node:path";
import { PlimsollError } from "./errors.ts";
import { makeFolder, trustedPath } from "./folder.ts";
import { readRegularFile } from "./regular-file.ts";
import { makeFile } from "./whole-file.ts";

export const SECRET_FILE = "secret";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The first byte of what is sealed, should another cipher follow. */
const FORMAT = 1;

/** Encrypts secrets for the database. */
export class SecretBox {
  /** Tells keys apart without saying anything about them. */
  readonly keyId: string;
  readonly #key: Buffer;

  /** @param secret any text that is hard to guess */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "plimsoll alert endpoints", 32));
    this.keyId = createHash("sha256").update("id").update(this.#key).digest("hex").slice(0, 16);
  }

  /** @param owner what the secret belongs to; it can be opened for nothing else */
  seal(text: string, owner: string): Uint8Array<ArrayBuffer> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(owner));
    const sealed = [cipher.update(text, "utf8"), cipher.final()];
    return Uint8Array.from(Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), ...sealed]));
  }

  /** @returns undefined if it was sealed with another key, for another owner, or was changed */
  open(sealed: Uint8Array, owner: string): string | undefined {
    const bytes = Buffer.from(sealed);
    if (bytes[0] !== FORMAT) return undefined;
    const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
    const tag = bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(owner)).setAuthTag(tag);
      const text = decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString("utf8");
    } catch {
      return undefined;
    }
  }
}

/**
 * The secret of this server: PLIMSOLL_SECRET, or a file in its home that is made at the first start. Servers that share a
 * database need the same.
 * @throws PlimsollError `data_folder_unwritable`, `root_unsupported`
 */
export async function openSecretBox(options: {
  home: string;
  secret: string | undefined;
}): Promise<SecretBox> {
  if (options.secret !== undefined) return new SecretBox(options.secret);
  const home = await trustedPath(options.home);
  const path = join(home, SECRET_FILE);
  try {
    await makeFolder(home, 0o700);
    return new SecretBox((await read(path)) ?? (await make(path)));
  } catch (error) {
    if (error instanceof PlimsollError) throw error;
    throw new PlimsollError("data_folder_unwritable", `The file ${path} cannot be made or read.`, {
      cause: error,
      hint: `Give this user write access to ${home}, or set PLIMSOLL_SECRET.`,
    });
  }
}

async function read(path: string): Promise<string | undefined> {
  const found = await readRegularFile(path, 4_096);
  if (found.is === "absent") return undefined;
  const secret = found.is === "text" ? found.text.trim() : "";
  if (secret.length >= 32) return secret;
  throw new PlimsollError("data_folder_unwritable", `${path} is not the file that Plimsoll wrote.`, {
    hint: "Restore it from a copy. Without one, delete it and write the targets of all alert endpoints again.",
  });
}

async function make(path: string): Promise<string> {
  await makeFile(path, `${randomBytes(32).toString("base64url")}\n`);
  return (await read(path)) ?? make(path);
}
