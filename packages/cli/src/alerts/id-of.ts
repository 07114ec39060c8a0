import { CliError } from "../errors.ts";

/** The id that begins as given. @throws CliError if there is none, or several */
export function idOf(items: readonly { id: string }[], given: string, what: string): string {
  const found = items.filter(({ id }) => id.startsWith(given));
  if (found.length === 1) return found[0]!.id;
  if (found.length === 0) throw new CliError(`There is no ${what} named ${given}.`);
  throw new CliError(`${given} begins ${found.length} ids.`, { hint: "Give more of the id." });
}
