import type { Part } from "./shape.ts";

/** Identifies a message by what it says: one row of a {@link Trail}. */
export interface Fingerprint {
  exact: number;
  loose: number;
}

/** Longer texts are hashed by their length, their beginning and their end. Characters. */
const WHOLE_CHARS = 65_536;

/** A 53-bit hash of a text. The same text gives the same number in every process. */
export function textHash(text: string, seed = 0): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  const add = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const code = text.charCodeAt(at);
      high = Math.imul(high ^ code, 0x9e3779b1);
      low = Math.imul(low ^ code, 0x5f356495);
    }
  };
  if (text.length <= WHOLE_CHARS) add(0, text.length);
  else {
    add(0, WHOLE_CHARS >> 1);
    add(text.length - (WHOLE_CHARS >> 1), text.length);
    high ^= text.length;
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return 0x1_0000_0000 * (0x1f_ffff & low) + (high >>> 0);
}

/** Identifies a message by its parts. Markers that a harness moves, such as those of a prompt cache, do not count. */
export function fingerprintOf(parts: readonly Part[]): Fingerprint {
  let exact = 0;
  let loose = 0;
  for (const part of parts) {
    const { kind, id, tool, text, extraTokens = 0 } = part;
    const shortened = kind === "result" || (kind === "call" && id !== undefined);
    const head = textHash(`${kind}\u0000${id ?? ""}\u0000${kind === "call" ? (tool ?? "") : ""}`);
    const said = textHash(text, extraTokens);
    exact = mixed(exact, head, said);
    loose = shortened ? mixed(loose, head, 0) : mixed(loose, head, said);
  }
  return { exact, loose };
}

function mixed(before: number, one: number, two: number): number {
  return textHash(`${before.toString(36)} ${one.toString(36)} ${two.toString(36)}`);
}
