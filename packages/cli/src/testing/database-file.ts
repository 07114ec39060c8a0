import { rmSync } from "node:fs";
import sqlite from "node-sqlite3-wasm";

export interface DatabaseTable {
  name: string;
  columns: readonly string[];
  rows: readonly (string | number | bigint | Uint8Array | null)[][];
}

/** Writes a SQLite database in place of the one before. */
export function writeDatabase(path: string, tables: readonly DatabaseTable[]): void {
  rmSync(path, { force: true });
  const database = new sqlite.Database(path);
  for (const { name, columns, rows } of tables) {
    database.exec(`CREATE TABLE ${name} (${columns.join(", ")})`);
    for (const row of rows)
      database.run(`INSERT INTO ${name} VALUES (${row.map(() => "?").join(", ")})`, row);
  }
  database.close();
}
