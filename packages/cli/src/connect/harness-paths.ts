import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
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
  if (id === "env") return envFileOf(scope, places, exists);
  if (scope === "project") return projectSettings(harness.family, places.project);
  const usual = adapterOf(harness).settingsFile(places);
  // opencode reads both names, and the second wins.
  const other = harness.family === "opencode" ? `${usual}c` : usual;
  return exists(other) ? other : usual;
}

function projectSettings(family: string, project: string): string {
  // Not settings.json, which is shared through the repository: the file holds a key.
  if (family === "claude-code") return join(project, ".claude", "settings.local.json");
  return join(project, ".gemini", "settings.json");
}

/** Gemini CLI loads only the first `.env` file that it finds, so a new file must not hide the one that it loads now. */
function envFileOf(scope: ConnectionScope, { home, project, env }: Places, exists: Exists): string {
  const geminiHome = env.GEMINI_CLI_HOME || home;
  const users = [join(geminiHome, ".gemini", ".env"), join(geminiHome, ".env")];
  const projects = scope === "project" ? parents(project).flatMap(envFilesIn) : [];
  const own = scope === "project" ? join(project, ".gemini", ".env") : users[0]!;
  return [...projects, ...users].find(exists) ?? own;
}

const envFilesIn = (folder: string) => [join(folder, ".gemini", ".env"), join(folder, ".env")];

function parents(folder: string): string[] {
  const start = resolve(folder);
  const above = dirname(start);
  return above === start ? [start] : [start, ...parents(above)];
}

/** The project's own `.env`, which Gemini CLI loads in place of the person's. */
export function hidingEnvFile({ home, project }: Places, exists: Exists = existsSync): string | undefined {
  const folders = parents(project);
  const end = folders.indexOf(resolve(home));
  return (end < 0 ? folders : folders.slice(0, end)).flatMap(envFilesIn).find(exists);
}

function profileOf({ env, home, platform }: Places): string {
  const shell = (env.SHELL ?? "").split("/").at(-1) ?? "";
  if (shell === "zsh") return join(env.ZDOTDIR || home, ".zshrc");
  if (shell === "bash") return join(home, platform === "darwin" ? ".bash_profile" : ".bashrc");
  throw new CliError(`Plimsoll cannot edit the start file of ${shell === "" ? "this shell" : shell}.`, {
    hint: "It knows bash and zsh, by the variable SHELL. Print the variables with --print, and set them for the harness yourself.",
  });
}
