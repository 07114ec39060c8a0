import { canonicalJson, type PolicySettings } from "@plimsoll/protocol/pure";

/** A policy whose hash is right. */
export interface ServedPolicy {
  generation: number;
  /** SHA-256 of the canonical JSON of `settings`, in hex. */
  hash: string;
  settings: PolicySettings;
}

/** What an answer of the server holds. */
export type AnswerRead =
  | { kind: "policy"; policy: ServedPolicy }
  /** Its hash is not that of its settings. */
  | { kind: "wrong_hash"; generation: number; hash: string; message: string }
  /** It is no policy at all. */
  | { kind: "unreadable"; message: string };

/** Largest answer, in UTF-16 units. */
export const MOST_CHARACTERS = 1_048_576;

const HASH = /^[0-9a-f]{64}$/;

/** Reads the body of an answer to `GET /api/v1/policy`. Never throws. An answer that is not a whole policy changes nothing. */
export async function readAnswer(text: string): Promise<AnswerRead> {
  if (text.length > MOST_CHARACTERS) return unreadable(`it is longer than ${MOST_CHARACTERS} characters`);
  const body = parsed(text);
  if (!isFields(body)) return unreadable(text.trim() === "" ? "it is empty" : "it is no JSON object");
  const { generation, hash, settings } = body;
  if (!Number.isSafeInteger(generation) || (generation as number) < 0)
    return unreadable("generation is not a whole number of 0 or more");
  if (typeof hash !== "string" || !HASH.test(hash)) return unreadable("hash is not 64 hexadecimal digits");
  if (!isFields(settings)) return unreadable("settings is not an object");
  const own = await hashOf(settings);
  if (own === undefined) return unreadable("its settings are nested too deeply, or there is no SHA-256 here");
  const known = { generation: generation as number, hash };
  if (own !== hash) {
    const message = `the hash of generation ${known.generation} is ${hash.slice(0, 16)}…, but that of its settings is ${own.slice(0, 16)}…`;
    return { kind: "wrong_hash", ...known, message };
  }
  if (known.generation === 0 && Object.keys(settings).length > 0)
    return unreadable("generation 0 means no policy, but it has settings");
  return { kind: "policy", policy: { ...known, settings } };
}

/** SHA-256 of the canonical JSON of a value, in hex; undefined for one that has none. */
export async function hashOf(value: unknown): Promise<string | undefined> {
  try {
    const bytes = new TextEncoder().encode(canonicalJson(value));
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const unreadable = (message: string): AnswerRead => ({ kind: "unreadable", message });
