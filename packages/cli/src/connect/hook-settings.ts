import type { Fields } from "@plimsoll/harnesses/bridge";
import type { ConnectableHarness, HarnessSetting } from "@plimsoll/harnesses/connect";
import { at, isFields } from "@plimsoll/harnesses/fields";
import { quoted, shellCommand } from "./status-line-setting.ts";

/**
 * The settings of a harness's hooks with those of Plimsoll added. What is there stays.
 * @param program how the command line is started
 * @param folder with the record of the connection
 */
export function hookSettings(
  { family, hooks, matchers }: Pick<ConnectableHarness, "family" | "hooks" | "matchers">,
  program: readonly string[],
  folder: string,
  settings: Fields,
): HarnessSetting[] {
  const command = shellCommand([...program, "hook", family, "--connection", folder]);
  return (hooks ?? []).flatMap((event): HarnessSetting[] => {
    const path = ["hooks", event];
    const found = at(settings, path) ?? [];
    // What is no list of hooks is left for the harness to explain.
    if (!Array.isArray(found) || !isFields(at(settings, ["hooks"]) ?? {})) return [];
    const others = found.filter((group) => !isOurs(group, folder));
    const matcher = matchers?.[event];
    const fresh = { ...(matcher !== undefined && { matcher }), hooks: [{ type: "command", command }] };
    const [ours = fresh] = found.filter((group) => runs(group, command));
    const value = found.includes(ours) ? found : [...others, ours];
    return [{ path, value, mode: "wrap" }];
  });
}

export const commandsOf = (group: unknown): string[] => {
  const hooks = at(group, ["hooks"]);
  return Array.isArray(hooks)
    ? hooks.flatMap((hook) => (isFields(hook) && typeof hook.command === "string" ? [hook.command] : []))
    : [];
};

const runs = (group: unknown, command: string) => commandsOf(group).includes(command);

/** Also a hook of another version of the program, which is replaced. */
const isOurs = (group: unknown, folder: string) =>
  commandsOf(group).some((command) => command.includes(` --connection ${quoted(folder)}`));

/** @returns a sentence if what the settings start is in a folder that npm deletes without asking */
export const passingProgram = (program: readonly string[]): string | undefined =>
  program.some((word) => /[\\/]_npx[\\/]/.test(word))
    ? `The hooks run ${program.at(-1)}, which npx deletes at times; they then report nothing. Run npm install --global plimsoll, and then connect again.`
    : undefined;
