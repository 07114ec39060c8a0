import { LARGEST } from "@plimsoll/protocol/events";
import type { Attributes, AttributeValue } from "./telemetry-record.ts";

/** Names of one attribute in order of preference. The first that has a value counts. */
export type AttributeNames = readonly string[];

/** A text that is not empty; undefined if there is none. */
export function textOf(attributes: Attributes, names: AttributeNames): string | undefined {
  for (const name of names) {
    const value = attributes.get(name);
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
  }
  return undefined;
}

/** A count of tokens. Older exporters send numbers as texts. */
export function tokensOf(attributes: Attributes, names: AttributeNames): number | undefined {
  const value = numberOf(attributes, names);
  return value !== undefined && Number.isInteger(value) && value >= 0 && value <= LARGEST.tokens
    ? value
    : undefined;
}

export function numberOf(attributes: Attributes, names: AttributeNames): number | undefined {
  for (const name of names) {
    const value = asNumber(attributes.get(name));
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Whether an attribute says true or "true". Undefined if it says neither true nor false. */
export function truthOf(attributes: Attributes, name: string): boolean | undefined {
  const value = attributes.get(name);
  if (value === true || value === "true") return true;
  return value === false || value === "false" ? false : undefined;
}

function asNumber(value: AttributeValue | undefined): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^-?\d+(\.\d+)?$/.test(value)) return undefined;
  return Number(value);
}
