import { GuardError } from "../error.ts";

/** @throws {GuardError} `invalid_option` if one of the options whose names end in `Ms` is no time */
export function checkTimes(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (!name.endsWith("Ms") || value === undefined || (typeof value === "number" && value >= 0)) continue;
    throw new GuardError("invalid_option", `${name}: ${String(value)} must be a time in ms of 0 or more.`);
  }
}
