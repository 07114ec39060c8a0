import { LARGEST } from "@plimsoll/protocol/events";

/** Safe access to untrusted JSON: each function returns undefined if the value does not have the expected type. */
export type JsonObject = Record<string, unknown>;

/** Returns undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function parseObject(line: string): JsonObject | undefined {
  return asObject(parseJson(line));
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** An empty list for any other value. */
export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A non-negative count, rounded to an integer. */
export function asCount(value: unknown): number | undefined {
  const number = asNumber(value);
  return number === undefined || number < 0 || number > LARGEST.integer ? undefined : Math.round(number);
}

/** A count of tokens that the server takes. */
export function asTokens(value: unknown): number | undefined {
  const count = asCount(value);
  return count === undefined || count > LARGEST.tokens ? undefined : count;
}

/** US dollars that the server takes for a call. */
export function asCost(value: unknown): number | undefined {
  const cost = asNumber(value);
  return cost === undefined || cost < 0 || cost > LARGEST.costUsd ? undefined : cost;
}

/** Converts RFC 3339 or epoch milliseconds to epoch milliseconds, between the years 2000 and 2100. */
export function asTime(value: unknown): number | undefined {
  const ms =
    typeof value === "number"
      ? Math.round(value)
      : typeof value === "string"
        ? Date.parse(value)
        : Number.NaN;
  return Number.isFinite(ms) && ms > Date.UTC(2000, 0, 1) && ms < Date.UTC(2100, 0, 1) ? ms : undefined;
}
