import { existsSync } from "node:fs";
import { join } from "node:path";
import type { HarnessAdapter, Places } from "@plimsoll/harnesses/bridge";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import type { ConnectableHarness, ConnectionScope, HarnessFileId } from "@plimsoll/harnesses/connect";
import { CliError } from "../errors.ts";

/** Whether there is a file; passed in for tests. */
export type Exists = (path: string) => boolean;

/** Where a harness and its files are. */
export interface PathQuery {
  harness: ConnectableHarness;
  scope: ConnectionScope;
  places: Places;
  /** PLIMSOLL_HOME. */
  home: string;
}

export const adapterOf = ({ family }: Pick<ConnectableHarness, "family">): HarnessAdapter =>
  ADAPTERS.find((adapter) => adapter.family === family)!;

/** Files with variables are in PLIMSOLL_HOME, readable only by their owner. */
export const variablesFolder = (home: string) => join(home, "connect");

/**
 * The path of a file that a harness takes settings from.
 * @throws CliError if the shell has no start file that Plimsoll can edit
 */
export function pathOf(id: HarnessFileId, query: PathQuery, exists: Exists = existsSync): string {
  const { harness, scope, places, home } = query;
  if (id === "variables") return join(variablesFolder(home), `${harness.family}.env`);
  if (id === "profile") return profileOf(places);
  const adapter = adapterOf(harness);
  if (id === "env") return adapter.envFile!(places, scope === "project", exists);
  if (scope === "project") return adapter.projectSettings!(places);
  const other = adapter.otherSettingsFile?.(places);
  return other !== undefined && exists(other) ? other : adapter.settingsFile(places);
}

function profileOf({ env, home, platform }: Places): string {
  const shell = (env.SHELL ?? "").split("/").at(-1) ?? "";
  if (shell === "zsh") return join(env.ZDOTDIR || home, ".zshrc");
  if (shell === "bash") return join(home, platform === "darwin" ? ".bash_profile" : ".bashrc");
  throw new CliError(`Plimsoll cannot edit the start file of ${shell === "" ? "this shell" : shell}.`, {
    hint: "It knows bash and zsh, by the variable SHELL. Print the variables with --print, and set them for the harness yourself.",
  });
}
