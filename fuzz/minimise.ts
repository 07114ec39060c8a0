/** Runs the predicate at most this often. */
const TRIES = 300;

/**
 * Removes as much as possible while the input still fails: halves first, then smaller pieces down to single items.
 * @param fails whether a smaller input fails in the same way
 */
export async function minimise<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean> | boolean,
  tries = TRIES,
): Promise<readonly T[]> {
  let smallest = items;
  let left = tries;
  for (let size = Math.ceil(items.length / 2); size >= 1 && left > 0; ) {
    let removed = false;
    for (let at = 0; at < smallest.length && left > 0; ) {
      const candidate = [...smallest.slice(0, at), ...smallest.slice(at + size)];
      left -= 1;
      if (await fails(candidate)) {
        smallest = candidate;
        removed = true;
      } else {
        at += size;
      }
    }
    if (size === 1 && !removed) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return smallest;
}

/** `minimise` over bytes. */
export async function minimiseBytes(
  bytes: Buffer,
  fails: (bytes: Buffer) => Promise<boolean> | boolean,
  tries = TRIES,
): Promise<Buffer> {
  return Buffer.from(await minimise([...bytes], (items) => fails(Buffer.from(items)), tries));
}
