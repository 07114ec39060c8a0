/** Milliseconds that statements get to finish when connections close. On a dead connection they never do. */
export const CLOSE_LIMIT = 3_000;

/** Waits for `work` at most `ms` milliseconds, and rejects after that. The work itself goes on. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
