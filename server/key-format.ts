import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * How a key is written: `plim_<id>_<secret><crc>`. The prefix lets secret scanners find a leaked key, the
 * checksum tells a typing error without asking the database.
 */
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 7;
/** 256 bits in base 62. */
const SECRET_LENGTH = 43;
/** 32 bits in base 62. */
const CHECKSUM_LENGTH = 6;
const PREFIX_LENGTH = "plim_".length + ID_LENGTH;
/** Takes the place of the id in the token of the command line on this machine. */
const LOCAL_ID = "local";

const SHAPE = /^plim_[0-9A-Za-z]{5,7}_[0-9A-Za-z]{49}$/;

/** Finds keys inside any text, also when cut short or followed by something else. */
export const KEY_PATTERN = /plim_[0-9A-Za-z]{5,7}_[0-9A-Za-z]+/g;

export interface NewKey {
  /** The whole key. Shown once, never stored. */
  secret: string;
  /** Its first characters, to tell keys apart. */
  prefix: string;
  hash: Uint8Array<ArrayBuffer>;
}

export function makeKey(random: (bytes: number) => Uint8Array = randomBytes): NewKey {
  const secret = assemble(base62(random(16), ID_LENGTH), random);
  return { secret, prefix: secret.slice(0, PREFIX_LENGTH), hash: hashSecret(secret) };
}

export function makeLocalToken(random: (bytes: number) => Uint8Array = randomBytes): string {
  return assemble(LOCAL_ID, random);
}

/** A token for something short-lived: a login link, a browser's cookie. 256 bits, safe in a URL. */
export function makeToken(random: (bytes: number) => Uint8Array = randomBytes): string {
  return base62(random(32), SECRET_LENGTH);
}

/** What is stored and compared. Plain sha256 is right for 256 random bits: there is nothing to guess. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash("sha256").update(secret).digest());
}

export type KeyShape = "key" | "local" | "mistyped" | "foreign";

/** What a presented string is, as far as can be told without the database. */
export function shapeOf(text: string): KeyShape {
  if (!SHAPE.test(text)) return text.startsWith("plim_") ? "mistyped" : "foreign";
  const body = text.slice(0, -CHECKSUM_LENGTH);
  if (checksum(body) !== text.slice(-CHECKSUM_LENGTH)) return "mistyped";
  return text.startsWith(`plim_${LOCAL_ID}_`) ? "local" : "key";
}

function assemble(id: string, random: (bytes: number) => Uint8Array): string {
  const body = `plim_${id}_${base62(random(32), SECRET_LENGTH)}`;
  return body + checksum(body);
}

const checksum = (body: string) => digits(BigInt(crc32(body)), CHECKSUM_LENGTH);

const base62 = (bytes: Uint8Array, length: number) =>
  digits(BigInt(`0x${Buffer.from(bytes).toString("hex")}`), length);

/** The lowest `length` digits, zeros in front. */
function digits(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text;
  return text;
}
