import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { at } from "@plimsoll/harnesses/fields";

/** Where the bridge keeps the settings of the last policy of a family, so that hooks need no server. */
export const followedPolicy = (home: string, family: string) => ({
  folder: join(home, "bridge"),
  name: `${family}-policy.json`,
});

/** Whether the last policy asks to put rules back after a compaction. */
export async function asksForRules(home: string, family: string): Promise<boolean> {
  const { folder, name } = followedPolicy(home, family);
  try {
    const settings: unknown = JSON.parse(await readFile(join(folder, name), "utf8"));
    return at(settings, ["compaction", "reinject"]) === true;
  } catch {
    return false;
  }
}
