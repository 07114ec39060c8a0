import { TOKENS } from "./hostile.ts";
import type { Random } from "./random.ts";

/**
 * Changes bytes in one to four places: flips a bit, overwrites, inserts a token, deletes, repeats a piece, cuts the end or
 * splices in a piece of `other`.
 */
export function mutateBytes(random: Random, bytes: Buffer, other: Buffer = bytes): Buffer {
  let result = bytes;
  for (let left = random.between(1, 4); left > 0; left--) result = mutateOnce(random, result, other);
  return result;
}

function mutateOnce(random: Random, bytes: Buffer, other: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.between(1, 24));
  const before = bytes.subarray(0, at);
  switch (random.below(8)) {
    case 0: {
      if (bytes.length === 0) return bytes;
      const copy = Buffer.from(bytes);
      copy[at % bytes.length]! ^= 1 << random.below(8);
      return copy;
    }
    case 1: {
      if (bytes.length === 0) return bytes;
      const copy = Buffer.from(bytes);
      copy[at % bytes.length] = random.below(256);
      return copy;
    }
    case 2:
    case 3:
      return Buffer.concat([before, random.pick(TOKENS), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([before, bytes.subarray(end)]);
    case 5: {
      const piece = bytes.subarray(at, end);
      return Buffer.concat([before, ...Array<Buffer>(random.between(2, 20)).fill(piece), bytes.subarray(at)]);
    }
    case 6:
      return before;
    default: {
      const from = random.below(other.length + 1);
      return Buffer.concat([before, other.subarray(from, from + random.between(1, 64)), bytes.subarray(end)]);
    }
  }
}
