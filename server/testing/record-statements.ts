import type { WriterSql, Writers } from "../db/sql.ts";

export interface RecordedStatement {
  text: string;
  values: readonly unknown[];
  /** Rows it returned or touched; 0 for a statement nobody waits for. */
  rows: number;
}

/** Writers that tell of each statement they ran. */
export function recordWriters(writers: Writers, record: (statement: RecordedStatement) => void): Writers {
  async function query<Row>(
    sql: Pick<Writers, "query">,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const rows = await sql.query<Row>(text, ...values);
    record({ text, values, rows: rows.length });
    return rows;
  }
  return {
    query: (text, ...values) => query(writers, text, values),
    transaction: (run) =>
      writers.transaction((sql) => {
        const recorded: WriterSql = {
          query: (text, ...values) => query(sql, text, values),
          async execute(text, ...values) {
            const rows = await sql.execute(text, ...values);
            record({ text, values, rows });
            return rows;
          },
          send(text, ...values) {
            record({ text, values, rows: 0 });
            sql.send(text, ...values);
          },
        };
        return run(recorded);
      }),
    end: () => writers.end(),
  };
}
