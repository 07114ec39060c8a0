import { canonicalJson } from "@plimsoll/protocol/policy";

/** A stored or expected row. In one, `undefined` and null are the same. */
export type ComparedRow = Readonly<Record<string, unknown>>;

/** The columns of `expected` that differ from the stored row, as `table.column`. */
export function differingColumns(table: string, stored: ComparedRow, expected: ComparedRow): string[] {
  return Object.keys(expected)
    .filter((field) => !sameValue(field, stored[field], expected[field]))
    .map((field) => `${table}.${columnName(field)}`);
}

/** Shares of a window, which the database keeps as four-byte floats. */
const SHARES: ReadonlySet<string> = new Set(["load", "peakUtilization"]);

function sameValue(field: string, a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number" && SHARES.has(field))
    return Math.fround(a) === Math.fround(b);
  // PostgreSQL does not keep the order of keys.
  if (typeof a === "object" && a !== null && typeof b === "object" && b !== null)
    return canonicalJson(a) === canonicalJson(b);
  return (a ?? undefined) === (b ?? undefined);
}

function columnName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
