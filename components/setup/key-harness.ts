import { familyOf } from "@plimsoll/protocol/pure";
import { plural } from "../format.ts";

/**
 * Whose agents a key with the scope `self` would answer, before it is created.
 * @param name as it is typed: an instance or a family
 * @param instances that have reported; undefined while they load
 */
export function harnessNote(name: string, instances: readonly string[] | undefined): string {
  if (name === "" || instances === undefined) return "The instance or the family whose agents may ask.";
  if (instances.includes(name)) return `Answers agents of the instance ${name}.`;
  const count = instances.filter((instance) => familyOf(instance) === name.toLowerCase()).length;
  return count === 0
    ? "No harness of this name has reported yet. The key works once one does."
    : `Answers agents of all instances of ${name}: ${plural(count, "instance")} so far.`;
}
