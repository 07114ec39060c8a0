import type { z } from "zod";

const NAMES: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a text",
  boolean: "true or false",
  array: "a list",
  object: "a group of fields",
  record: "a group of fields",
};

const oneOf = (values: readonly unknown[]) => values.map(String).join(", ");

/** What is wrong with a value that a person wrote, in words that a form and an editor can show. Undefined leaves it to zod. */
export function plainMistake(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${NAMES[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${oneOf(issue.values)}`;
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return "must not be empty";
      return `must ${isSize(issue.origin) ? "have" : "be"} ${issue.inclusive ? "at least" : "more than"} ${counted(issue.minimum, issue.origin)}`;
    case "too_big":
      return `must ${isSize(issue.origin) ? "have" : "be"} ${issue.inclusive ? "at most" : "less than"} ${counted(issue.maximum, issue.origin)}`;
    default:
      return undefined;
  }
}

const UNITS: Readonly<Record<string, string>> = { string: "character", array: "item" };
const isSize = (origin: string) => origin in UNITS;

function counted(count: number | bigint, origin: string): string {
  const text = count.toLocaleString("en-US");
  return isSize(origin) ? `${text} ${UNITS[origin]}${count === 1 ? "" : "s"}` : text;
}
