import { binaryArray, type ElementType, type ElementValues } from "./binary-arrays.ts";

/** `json` and `int4[]` travel as text and are cast by the statement. */
type BaseType = ElementType | "json" | "int4[]";
/** A question mark allows NULL, which is `undefined` in a row. */
export type ColumnType = BaseType | `${BaseType}?`;

type BaseValue<Type> = Type extends keyof ElementValues
  ? ElementValues[Type]
  : Type extends "int4[]"
    ? readonly (number | undefined)[]
    : unknown;
type Value<Type> = Type extends `${infer Base}?` ? BaseValue<Base> | undefined : BaseValue<Type>;

export type Columns = Record<string, ColumnType>;
export type RowOf<T> = T extends Table<infer C, string> ? { [Name in keyof C]: Value<C[Name]> } : never;

/** A statement and its parameters. The first parameter is the project id. */
export interface Statement {
  text: string;
  values: unknown[];
}

/**
 * One definition of a table: its statements, column lists and row types come from it. Every table belongs to a project:
 * `project_id` is the first column of its key and the first parameter of each statement, so on Citus each statement
 * reaches one shard.
 */
export class Table<C extends Columns, Key extends keyof C & string> {
  readonly name: string;
  readonly #key: readonly Key[];
  readonly #columns: readonly Column[];
  /** Without `project_id`. */
  readonly #texts = new Map<string, string>();

  constructor(name: string, key: readonly Key[], columns: C) {
    this.name = name;
    this.#key = key;
    this.#columns = Object.entries(columns).map(([field, type]) => columnOf(field, type));
  }

  /** The columns for SELECT, under the names of their fields; `parse` reads such a row. */
  select(alias = this.name): string {
    return this.#columns.map((column) => `${column.read(alias)} AS "${column.field}"`).join(", ");
  }

  /** The row behind what `select` returned: NULL becomes undefined. */
  parse(raw: Record<string, unknown>): RowOf<Table<C, Key>> {
    for (const field in raw) if (raw[field] === null) raw[field] = undefined;
    return raw as RowOf<Table<C, Key>>;
  }

  /** Fails for a row whose key exists. */
  insert(projectId: number, rows: readonly RowOf<Table<C, Key>>[]): Statement {
    return this.#statement("insert", this.#columns, projectId, rows, () => this.#insertText());
  }

  /** Leaves a row whose key exists as it is. */
  insertIfAbsent(projectId: number, rows: readonly RowOf<Table<C, Key>>[]): Statement {
    const text = () => `${this.#insertText()} ON CONFLICT (${this.#keyColumns()}) DO NOTHING`;
    return this.#statement("insert-absent", this.#columns, projectId, rows, text);
  }

  /**
   * Inserts or replaces. `merge` gives the SQL of columns that are not simply replaced, with `t` for the stored row and
   * `EXCLUDED` for the new one. Give the same object each time: it identifies the statement.
   */
  upsert(projectId: number, rows: readonly RowOf<Table<C, Key>>[], merge: Merge<C> = REPLACE): Statement {
    return this.#statement(merge, this.#columns, projectId, rows, () => {
      const set = this.#columns
        .filter(({ field }) => !this.#key.includes(field as Key))
        .map(({ name, field }) => `${name} = ${merge[field] ?? `EXCLUDED.${name}`}`);
      return `${this.#insertText()} ON CONFLICT (${this.#keyColumns()}) DO UPDATE SET ${set.join(", ")}`;
    });
  }

  /** Updates some columns of rows that exist; the number of rows it touched tells whether all did. */
  update<Field extends keyof C & string>(
    projectId: number,
    rows: readonly Pick<RowOf<Table<C, Key>>, Key | Field>[],
    fields: readonly Field[],
    where = "",
  ): Statement {
    const columns = this.#columns.filter(
      ({ field }) => this.#key.includes(field as Key) || fields.includes(field as Field),
    );
    return this.#statement(`update ${fields.join()} ${where}`, columns, projectId, rows, () => {
      const set = columns
        .filter(({ field }) => !this.#key.includes(field as Key))
        .map(({ name, value }) => `${name} = ${value("i")}`);
      return `UPDATE ${this.name} t SET ${set.join(", ")} FROM (${unnest(columns)}) i
        WHERE t.project_id = $1 AND ${this.#sameKey()} ${where}`;
    });
  }

  delete(projectId: number, keys: readonly Pick<RowOf<Table<C, Key>>, Key>[], where = ""): Statement {
    const columns = this.#keys();
    const text = () =>
      `DELETE FROM ${this.name} t USING (${unnest(columns)}) i WHERE t.project_id = $1 AND ${this.#sameKey()} ${where}`;
    return this.#statement(`delete ${where}`, columns, projectId, keys, text);
  }

  /** The stored rows with these keys. */
  find(projectId: number, keys: readonly Pick<RowOf<Table<C, Key>>, Key>[]): Statement {
    const columns = this.#keys();
    const text = () =>
      // OFFSET 0 keeps the lookup by key, also while the planner has no statistics.
      `SELECT ${this.select("t")} FROM (${unnest(columns)}) i CROSS JOIN LATERAL (
        SELECT t.* FROM ${this.name} t WHERE t.project_id = $1 AND ${this.#sameKey()} OFFSET 0) t`;
    return this.#statement("find", columns, projectId, keys, text);
  }

  #keys(): readonly Column[] {
    return this.#columns.filter(({ field }) => this.#key.includes(field as Key));
  }

  #keyColumns(): string {
    return ["project_id", ...this.#keys().map(({ name }) => name)].join(", ");
  }

  #sameKey(): string {
    return this.#keys()
      .map(({ name }) => `t.${name} = i.${name}`)
      .join(" AND ");
  }

  #insertText(): string {
    const names = this.#columns.map(({ name }) => name).join(", ");
    const values = this.#columns.map(({ value }) => value("i")).join(", ");
    return `INSERT INTO ${this.name} AS t (project_id, ${names})
      SELECT $1::int4, ${values} FROM (${unnest(this.#columns)}) i`;
  }

  #statement<Row>(
    kind: string | Merge<C>,
    columns: readonly Column[],
    projectId: number,
    rows: readonly Row[],
    make: () => string,
  ): Statement {
    const key = typeof kind === "string" ? kind : `upsert ${JSON.stringify(kind)}`;
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = make();
      this.#texts.set(key, text);
    }
    return { text, values: [projectId, ...columns.map((column) => column.encode(rows))] };
  }
}

/** SQL of a column after a conflict, by field. */
export type Merge<C extends Columns> = { readonly [Field in keyof C]?: string } & Record<
  string,
  string | undefined
>;

const REPLACE = {};

export function defineTable<const C extends Columns, Key extends keyof C & string>(
  name: string,
  key: readonly Key[],
  columns: C,
): Table<C, Key> {
  return new Table(name, key, columns);
}

interface Column {
  field: string;
  /** In the database. */
  name: string;
  /** Of the array that carries it. */
  arrayType: string;
  /** Its value in an `unnest` row under this alias. */
  value: (alias: string) => string;
  /** Its value in a stored row under this alias, as JavaScript reads it. */
  read: (alias: string) => string;
  encode: (rows: readonly unknown[]) => Buffer;
}

const ARRAY_TYPES: Record<BaseType, string> = {
  bool: "bool",
  int2: "int2",
  int4: "int4",
  int8: "int8",
  decimal: "int8",
  float4: "float4",
  float8: "float8",
  text: "text",
  time: "timestamptz",
  uuid: "uuid",
  bytea: "bytea",
  json: "text",
  "int4[]": "text",
};

function columnOf(field: string, type: ColumnType): Column {
  const base = (type.endsWith("?") ? type.slice(0, -1) : type) as BaseType;
  const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const cast = base === "json" ? "::jsonb" : base === "int4[]" ? "::int4[]" : "";
  return {
    field,
    name,
    arrayType: ARRAY_TYPES[base],
    value: (alias) => `${alias}.${name}${cast}`,
    read: (alias) => readerOf(base)(`${alias}.${name}`),
    encode: encoderOf(base, name, field),
  };
}

function readerOf(type: BaseType): (column: string) => string {
  if (type === "time") return (column) => `(extract(epoch FROM ${column}) * 1000)::float8`;
  if (type === "int8") return (column) => `${column}::float8`;
  // The typed client reads int8 as BigInt, and the driver as text.
  if (type === "decimal") return (column) => `${column}::text`;
  return (column) => column;
}

function encoderOf(type: BaseType, name: string, field: string): Column["encode"] {
  const pick = (row: unknown) => (row as Record<string, unknown>)[field];
  if (type === "json") return (rows) => binaryArray("text", name, rows, (row) => JSON.stringify(pick(row)));
  if (type === "int4[]") {
    return (rows) => binaryArray("text", name, rows, (row) => intArrayText(pick(row)));
  }
  return (rows) => binaryArray(type, name, rows, pick);
}

function intArrayText(values: unknown): string | undefined {
  if (values === undefined) return undefined;
  return `{${(values as readonly (number | undefined)[]).map((value) => value ?? "NULL").join(",")}}`;
}

/** Rows from one array a column; the arrays are the parameters from $2 on. */
function unnest(columns: readonly Column[]): string {
  const arrays = columns.map(({ arrayType }, index) => `$${index + 2}::${arrayType}[]`).join(", ");
  return `SELECT * FROM unnest(${arrays}) AS r(${columns.map(({ name }) => name).join(", ")})`;
}
