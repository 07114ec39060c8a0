/** Careful looks into JSON that others wrote: every answer is undefined unless the value has the expected type. */
export type Json = Record<string, unknown>;

export function parseObject(line: string): Json | undefined {
  try {
    return asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}

export function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A count of tokens or the like: a whole number that is not negative. */
export function asCount(value: unknown): number | undefined {
  const number = asNumber(value);
  return number === undefined || number < 0 || number > 2_147_483_647 ? undefined : Math.round(number);
}

/** RFC 3339 or epoch milliseconds, as epoch milliseconds. */
export function asTime(value: unknown): number | undefined {
  const ms =
    typeof value === "number"
      ? Math.round(value)
      : typeof value === "string"
        ? Date.parse(value)
        : Number.NaN;
  return Number.isFinite(ms) && ms > Date.UTC(2000, 0, 1) && ms < Date.UTC(2100, 0, 1) ? ms : undefined;
}
