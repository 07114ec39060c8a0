import { GuardError } from "../error.ts";

/** Each option by name, and whether it can be left out. */
export type OptionNames<O> = Readonly<{
  [Name in keyof O]-?: object extends Pick<O, Name> ? "optional" : "required";
}>;

/**
 * Checks the names of options, and the times: the options whose names end in `Ms`.
 * @throws {GuardError} `invalid_option` if one is unknown, missing or no time in ms of 0 or more
 * @example
 * checkNames({ url: "http://127.0.0.1:4180" }, { url: "required" });
 */
export function checkNames<O extends object>(options: O, names: OptionNames<O>): void {
  const given: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(options));
  const invalid = (text: string) => new GuardError("invalid_option", text);
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(names, name))
      throw invalid(`${name}: is no option. Options: ${Object.keys(names).join(", ")}.`);
    if (!name.endsWith("Ms") || value === undefined || (typeof value === "number" && value >= 0)) continue;
    throw invalid(`${name}: ${String(value)} must be a time in ms of 0 or more.`);
  }
  for (const [name, need] of Object.entries(names))
    if (need === "required" && given[name] === undefined) throw invalid(`${name}: is missing.`);
}
