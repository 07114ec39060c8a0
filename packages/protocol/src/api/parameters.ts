import { z } from "zod";

/** Largest value of a PostgreSQL integer. */
const LARGEST_INTEGER = 2_147_483_647;

/** Id of a row. */
export const rowId = z.uuid();

/** A version, revision or generation, or how many there are of something. */
export const rowNumber = z.number().int().min(0).max(LARGEST_INTEGER);

/** The same in a query or a path. */
export const rowNumberText = z.coerce.number().int().min(0).max(LARGEST_INTEGER);

/**
 * A text that a caller sends. PostgreSQL holds neither NUL nor half of a surrogate pair: to send one is a mistake of the caller, and
 * not a fault of the server.
 * @param max UTF-16 units
 */
export const callText = (max: number, string = z.string()) =>
  string
    .max(max)
    .refine((value) => !value.includes("\u0000"), "must not contain a NUL character")
    .refine((value) => value.isWellFormed(), "must not contain half of a surrogate pair");

/** `next_cursor` of the page before. */
export const cursorText = callText(2_000).optional();
