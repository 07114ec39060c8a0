/** A stored or expected row. In one, `undefined` and null are the same. */
export type ComparedRow = Readonly<Record<string, unknown>>;

/** The columns of `expected` that differ from the stored row, as `table.column`. */
export function differingColumns(table: string, stored: ComparedRow, expected: ComparedRow): string[] {
  return Object.keys(expected)
    .filter((field) => !sameValue(stored[field], expected[field]))
    .map((field) => `${table}.${columnName(field)}`);
}

function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number") return sameNumber(a, b);
  if (typeof a === "object" && a !== null) return JSON.stringify(a) === JSON.stringify(b);
  return (a ?? undefined) === (b ?? undefined);
}

/** The database keeps shares as four-byte floats. */
function sameNumber(a: number, b: number): boolean {
  return a === b || (!(Number.isInteger(a) && Number.isInteger(b)) && Math.fround(a) === Math.fround(b));
}

function columnName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
