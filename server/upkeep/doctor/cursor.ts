import { z } from "zod";

const StoredWalk = z.object({
  position: z.string().optional(),
  /** Units of the next step. */
  size: z.number().int().min(1).max(1_000_000),
  /** Milliseconds left for this check; absent without a limit. */
  left: z.number().min(0).optional(),
  examined: z.number(),
  waiting: z.number(),
  of: z.number().optional(),
  faults: z.number(),
  /** The first faults, in words. */
  named: z.array(z.string()),
  message: z.string().optional(),
});

const StoredCursor = z.object({
  /** Index of the check that goes on. */
  check: z.number().int().min(0),
  /** Milliseconds left for all checks; absent without a limit. */
  left: z.number().min(0).optional(),
  walk: StoredWalk.optional(),
});

/** How far a check is. */
export interface Walk {
  position: string | undefined;
  size: number;
  left: number | undefined;
  examined: number;
  waiting: number;
  of: number | undefined;
  faults: number;
  named: string[];
  message: string | undefined;
}

export interface Cursor {
  check: number;
  left: number | undefined;
  walk: Walk | undefined;
}

/** A cursor holds all that the next part needs, so any server may answer it. */
export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** Returns undefined for a text that is not a cursor. */
export function decodeCursor(text: string): Cursor | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
  const cursor = StoredCursor.safeParse(value).data;
  if (cursor === undefined) return undefined;
  const { check, left, walk } = cursor;
  if (walk === undefined) return { check, left, walk };
  const { position, left: ofCheck, of, message } = walk;
  return { check, left, walk: { ...walk, position, left: ofCheck, of, message } };
}
