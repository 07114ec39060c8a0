import type { Fields } from "@plimsoll/harnesses/bridge";
import type { ConnectableHarness, HarnessSetting } from "@plimsoll/harnesses/connect";
import { at, isFields, textAt } from "@plimsoll/harnesses/fields";
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
    // Also a hook of another version of the program, which is replaced.
    const others = withoutCommands(found, (one) => one.includes(` --connection ${quoted(folder)}`));
    const matcher = matchers?.[event];
    const fresh = { ...(matcher !== undefined && { matcher }), hooks: [{ type: "command", command }] };
    const [ours = fresh] = found.filter((group) => runs(group, command));
    const value = found.includes(ours) ? found : [...others, ours];
    return [{ path, value, mode: "wrap" }];
  });
}

/** Groups of hooks without some commands. A person may have added hooks to a group of Plimsoll. */
export const withoutCommands = (
  groups: readonly unknown[],
  isOurs: (command: string) => boolean,
): unknown[] =>
  groups.flatMap((group): unknown[] => {
    const hooks = at(group, ["hooks"]);
    if (!isFields(group) || !Array.isArray(hooks)) return [group];
    const left = hooks.filter((hook) => !isOurs(textAt(hook, ["command"]) ?? ""));
    if (left.length === hooks.length) return [group];
    return left.length === 0 ? [] : [{ ...group, hooks: left }];
  });

const runs = (group: unknown, command: string) => {
  const hooks = at(group, ["hooks"]);
  return Array.isArray(hooks) && hooks.some((hook) => textAt(hook, ["command"]) === command);
};

/** @returns a sentence if what the settings start is in a folder that npm deletes without asking */
export const passingProgram = (program: readonly string[]): string | undefined =>
  program.some((word) => /[\\/]_npx[\\/]/.test(word))
    ? `The hooks run ${program.at(-1)}, which npx deletes at times; they then report nothing. Run npm install --global plimsoll, and then connect again.`
    : undefined;
