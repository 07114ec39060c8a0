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

/** Columns of rows handed to PostgreSQL as one array a column. */
export class Columns<Name extends string> {
  /** `SELECT * FROM unnest(...)` over parameters $1 to $n, with the row's number as `ord`. */
  readonly select: string;
  /** How many parameters the columns take. */
  readonly count: number;
  readonly #columns: readonly (readonly [Name, string])[];

  constructor(columns: readonly (readonly [Name, string])[]) {
    this.#columns = columns;
    this.count = columns.length;
    const lists = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
    this.select = `SELECT * FROM unnest(${lists}) WITH ORDINALITY AS t(${this.names()}, ord)`;
  }

  names(): string {
    return this.#columns.map(([name]) => name).join(", ");
  }

  parameters(rows: readonly Readonly<Record<Name, Value>>[]): string[] {
    return this.#columns.map(([name, type]) => {
      const values = rows.map((row) => row[name]);
      return type === "text" ? textArrayLiteral(values) : arrayLiteral(values);
    });
  }
}
