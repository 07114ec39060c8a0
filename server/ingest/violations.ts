/** What PostgreSQL says of a statement that broke a rule of its table. */
interface Violation {
  code?: unknown;
  table?: unknown;
  column?: unknown;
  constraint?: unknown;
}

const NOT_NULL_VIOLATION = "23502";
const UNIQUE_VIOLATION = "23505";

/** Whether a row was there already under the same key. */
export function violatesKey(error: unknown, constraint: string): boolean {
  const violation = (error ?? {}) as Violation;
  return violation.code === UNIQUE_VIOLATION && violation.constraint === constraint;
}

/** Whether a column was given null that takes none. */
export function violatesNotNull(error: unknown, table: string, column: string): boolean {
  const violation = (error ?? {}) as Violation;
  return violation.code === NOT_NULL_VIOLATION && violation.table === table && violation.column === column;
}
