/**
 * A value as JSON that is the same text wherever it is made: keys sorted by their UTF-16 units, no spaces, and nothing that is
 * undefined (RFC 8785). Two policies that say the same have the same text, and so the same hash.
 * @throws {TypeError} for a value that JSON cannot hold, such as NaN.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is no number that JSON can hold`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((one) => canonicalJson(one ?? null)).join(",")}]`;
  if (typeof value !== "object") throw new TypeError(`JSON cannot hold a ${typeof value}`);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(",")}}`;
}
