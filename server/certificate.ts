import { X509Certificate } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import { PlimsollError } from "./errors.ts";

export interface CertificateFiles {
  /** PEM: the certificate, then those between it and its authority. */
  cert: string;
  /** PEM, not encrypted. */
  key: string;
}

/** What a TLS server needs. */
export interface KeyPair {
  cert: Buffer;
  key: Buffer;
}

/** What the doctor and `/metrics` say of the certificate. */
export interface CertificateState {
  /** Epoch ms. */
  expiresAt: number;
  /** Why the files are not used, so that an older pair still is; undefined if they are. */
  fault: string | undefined;
}

export interface WatchedCertificate {
  /** The pair in use. */
  pair: () => KeyPair;
  state: () => CertificateState;
  /** Looks at the files now. Does so by itself every few seconds. */
  look(): Promise<void>;
  /** Told of each new pair. */
  onChange(use: (pair: KeyPair) => void): void;
  stop(): void;
}

/** Files are compared by content: a watcher misses a change of a link, which is how cert-manager and certbot replace them. */
const LOOK_EVERY_MS = 5_000;
const MOST_BYTES = 1024 * 1024;

/**
 * Reads a certificate and its key, and reads them again when they change. A pair that does not work leaves the one before in use.
 * @throws PlimsollError `setting_invalid` if the pair does not work at the start
 */
export async function openCertificate(files: CertificateFiles, log: Logger): Promise<WatchedCertificate> {
  const first = await readPair(files);
  if (typeof first === "string") {
    throw new PlimsollError("setting_invalid", `The TLS certificate cannot be used: ${first}`, {
      hint: "PLIMSOLL_TLS_CERT and PLIMSOLL_TLS_KEY name PEM files of one certificate and its key, not encrypted.",
    });
  }
  let inUse = first;
  let fault: string | undefined;
  let suspected: string | undefined;
  const listeners = new Set<(pair: KeyPair) => void>();

  async function look(): Promise<void> {
    const read = await readPair(files);
    if (typeof read === "string") {
      // Two files are not replaced at one moment: a fault counts when it is still there at the next look.
      if (read === suspected && read !== fault) {
        fault = read;
        log.error({ fault, ...files }, "the new TLS certificate cannot be used; the one before stays in use");
      }
      suspected = read;
      return;
    }
    const isNew = !(read.cert.equals(inUse.cert) && read.key.equals(inUse.key));
    if (isNew) {
      inUse = read;
      for (const use of listeners) use(read);
      log.info({ expires: new Date(read.expiresAt).toISOString() }, "uses a new TLS certificate");
    } else if (fault !== undefined) log.info("the files of the TLS certificate are in order again");
    fault = undefined;
    suspected = undefined;
  }

  let looking = false;
  const timer = setInterval(() => {
    // A file system may take longer than that.
    if (looking) return;
    looking = true;
    void look().finally(() => {
      looking = false;
    });
  }, LOOK_EVERY_MS).unref();
  return {
    pair: () => inUse,
    state: () => ({ expiresAt: inUse.expiresAt, fault }),
    look,
    onChange: (use) => void listeners.add(use),
    stop: () => clearInterval(timer),
  };
}

/** @returns what is wrong, if something is */
async function readPair(files: CertificateFiles): Promise<(KeyPair & { expiresAt: number }) | string> {
  let at = files.cert;
  try {
    const cert = await readBounded(files.cert);
    const expiresAt = Date.parse(new X509Certificate(cert).validTo);
    at = files.key;
    const key = await readBounded(files.key);
    createSecureContext({ cert, key });
    return { cert, key, expiresAt };
  } catch (error) {
    return `${at}: ${reasonOf(error as NodeJS.ErrnoException)}.`;
  }
}

async function readBounded(path: string): Promise<Buffer> {
  // Else opening a pipe would wait for its writer, and keep a thread.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await file.stat()).isFile()) throw new Error("it is no file");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    if (bytesRead === MOST_BYTES) throw new Error("it is larger than 1 MiB");
    return Buffer.from(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

const REASONS: Record<string, string> = {
  ENOENT: "there is no such file",
  EACCES: "this user may not read it",
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: "it is the key of another certificate",
  ERR_OSSL_PEM_NO_START_LINE: "it is no PEM",
  ERR_MISSING_PASSPHRASE: "it is encrypted",
};

const reasonOf = ({ code = "", message }: NodeJS.ErrnoException) =>
  REASONS[code] ?? message.replace(/\.$/, "").slice(0, 200);
