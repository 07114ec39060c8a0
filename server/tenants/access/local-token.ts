import { createHmac, timingSafeEqual } from "node:crypto";
import type { Stats } from "node:fs";
import { type FileHandle, unlink } from "node:fs/promises";
import { join } from "node:path";
import { clientProofText, type LocalProof, serverProofText } from "@plimsoll/protocol/api";
import type { Logger } from "pino";
import { LOCAL_TOKEN_FILE } from "../../db/postgres/layout.ts";
import { PlimsollError } from "../../errors.ts";
import { makeFolder, trustedPath } from "../../folder.ts";
import { hashSecret, makeLocalToken, makeToken, shapeOf } from "../../key-format.ts";
import { withRegularFile } from "../../regular-file.ts";
import { makeFile } from "../../whole-file.ts";

const REREAD_MS = 1_000;
/** A token and a line feed have fewer. */
const TOKEN_FILE_BYTES = 1_024;

export interface LocalToken {
  /** Whether this is the token in the file now. */
  matches(token: string): Promise<boolean>;
  /** Proves to the command line that this process can read the token. See `LOCAL_PROOF_PATH`. */
  prove(challenge: string, reached: { address: string; port: number }): Promise<LocalProof>;
  /** Whether a MAC is the command line's proof to this process. */
  acceptsProof(mac: string): Promise<boolean>;
}

/**
 * The token with which the command line of this machine is let in: whoever may read the file owns the
 * data anyway. All processes of one home share it. To change it, delete the file.
 * @throws PlimsollError `data_folder_unwritable`, `root_unsupported`
 */
export async function openLocalToken(options: {
  home: string;
  log: Logger;
  now?: () => number;
}): Promise<LocalToken> {
  const { log, now = Date.now } = options;
  const home = await trustedPath(options.home);
  const path = join(home, LOCAL_TOKEN_FILE);
  const instance = makeToken();
  let current = await readOrMake(path, home, log);
  let readAt = now();

  /** Looks whether another process has made the file again. Once a second at most, so that guessing costs no reading. */
  async function reread(): Promise<boolean> {
    if (now() - readAt < REREAD_MS) return false;
    readAt = now();
    const found = await readToken(path, log).catch(() => undefined);
    if (found === undefined || found === current) return false;
    current = found;
    return true;
  }

  const isToken = (token: string) => timingSafeEqual(hashSecret(token), hashSecret(current));
  const mac = (text: string) => createHmac("sha256", current).update(text).digest("hex");
  const isProof = (given: string) =>
    timingSafeEqual(hashSecret(given), hashSecret(mac(clientProofText(instance))));

  return {
    async matches(token) {
      return isToken(token) || ((await reread()) && isToken(token));
    },
    async prove(challenge, { address, port }) {
      await reread();
      return { instance, proof: mac(serverProofText({ challenge, instance, address, port })) };
    },
    async acceptsProof(given) {
      return isProof(given) || ((await reread()) && isProof(given));
    },
  };
}

async function readOrMake(path: string, home: string, log: Logger): Promise<string> {
  try {
    await makeFolder(home, 0o700);
    for (let attempt = 0; attempt < 3; attempt++) {
      const token = makeLocalToken();
      const found =
        (await readToken(path, log)) ??
        ((await makeFile(path, `${token}\n`)) === "made" ? token : await readToken(path, log));
      if (found) return found;
      log.warn({ path }, "the local token file was damaged and is made again");
      await unlink(path).catch(() => {});
    }
    throw new Error("the file is replaced again and again");
  } catch (error) {
    if (error instanceof PlimsollError) throw error;
    throw new PlimsollError("data_folder_unwritable", `The file ${path} cannot be made or read.`, {
      cause: error,
      hint: `Give this user write access to ${home}, or set PLIMSOLL_HOME to another folder.`,
    });
  }
}

/** @returns undefined when there is no file, or no token in it */
async function readToken(path: string, log: Logger): Promise<string | undefined> {
  const text = await withRegularFile(path, async (file, stats) => {
    const uid = process.getuid?.();
    if (uid !== undefined && stats.uid !== uid)
      throw notOurs(path, `belongs to the user with uid ${stats.uid}`);
    await closeToOthers(file, stats, path, log);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TOKEN_FILE_BYTES), 0, TOKEN_FILE_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString("utf8").trim();
  });
  if (text === "irregular") throw notOurs(path, "is a link, or not a file");
  return shapeOf(text) === "local" ? text : undefined;
}

const notOurs = (path: string, why: string) =>
  new PlimsollError("data_folder_unwritable", `Plimsoll does not use the token file ${path}: it ${why}.`, {
    hint: "Delete it, and Plimsoll makes a new one. Or start Plimsoll as the user who owns the data directory.",
  });

async function closeToOthers(file: FileHandle, { mode }: Stats, path: string, log: Logger): Promise<void> {
  if (process.platform === "win32" || (mode & 0o077) === 0) return;
  log.warn({ path }, "others could read the local token file; its permissions are now 0600");
  await file.chmod(0o600);
}
