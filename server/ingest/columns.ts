type Value = number | string | boolean | undefined;

/**
 * Array parameters for `unnest`, written out as PostgreSQL array literals: several times cheaper than letting the
 * driver quote every element, or than handing the rows over as one JSON document. The elements are numbers, uuids
 * and booleans that need no quoting.
 */
export function arrayLiteral(values: readonly Value[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (index > 0) text += ",";
    text += value === undefined ? "NULL" : value;
  }
  return `${text}}`;
}

function textArrayLiteral(values: readonly Value[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (index > 0) text += ",";
    text += value === undefined ? "NULL" : `"${String(value).replace(/["\\]/g, "\\$&")}"`;
  }
  return `${text}}`;
}

/** A column: its name, its PostgreSQL type, and its value in a row. */
export type Column<Row> = readonly [name: string, type: string, value: (row: Row) => Value];

/** Columns of rows handed to PostgreSQL as one array a column. */
export class Columns<Row> {
  /** `SELECT * FROM unnest(...)` over parameters $1 to $n, with the row's number as `ord`. */
  readonly select: string;
  readonly names: readonly string[];
  readonly #columns: readonly Column<Row>[];

  constructor(columns: readonly Column<Row>[]) {
    this.#columns = columns;
    this.names = columns.map(([name]) => name);
    const lists = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
    this.select = `SELECT * FROM unnest(${lists}) WITH ORDINALITY AS t(${this.names.join(", ")}, ord)`;
  }

  /** How many parameters the columns take. */
  get count(): number {
    return this.#columns.length;
  }

  parameters(rows: readonly Row[]): string[] {
    return this.#columns.map(([, type, value]) => {
      const values = rows.map(value);
      return type === "text" ? textArrayLiteral(values) : arrayLiteral(values);
    });
  }
}
