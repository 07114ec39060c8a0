/**
 * Array parameters for `unnest`, written out as PostgreSQL array literals: several times cheaper than letting the
 * driver quote every element, and the elements here are numbers, uuids and booleans that need no quoting.
 */
export function arrayLiteral(values: readonly (number | string | boolean | undefined)[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (index > 0) text += ",";
    text += value === undefined ? "NULL" : value;
  }
  return `${text}}`;
}
