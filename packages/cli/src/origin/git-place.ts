import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** What git says of a folder. */
interface GitPlace {
  /** URL of `origin`, else of the first remote. */
  remote: string | undefined;
  branch: string | undefined;
}

/** Folders above that are searched for a repository. */
const MOST_FOLDERS = 64;
const REMOTE = /^\s*\[\s*remote\s+"([^"\\]*)"\s*\]/i;
const SECTION = /^\s*\[/;
const URL_LINE = /^\s*url\s*=\s*"?(.*?)"?\s*$/i;

/**
 * Reads the files of git; git itself need not be there, and no setting of a repository runs a program. Undefined outside of a
 * repository.
 */
export function gitPlace(folder: string): GitPlace | undefined {
  let at = resolve(folder);
  for (let tried = 0; tried < MOST_FOLDERS; tried++) {
    const git = gitFolder(join(at, ".git"));
    if (git !== undefined) return { remote: remoteIn(configOf(git)), branch: branchIn(git) };
    const above = dirname(at);
    if (above === at) return undefined;
    at = above;
  }
  return undefined;
}

/** The folder of git; of a worktree or a submodule, `.git` is a file that names it. */
function gitFolder(path: string): string | undefined {
  if (textOf(join(path, "HEAD")) !== undefined) return path;
  const link = /^gitdir:\s*(.+?)\s*$/m.exec(textOf(path) ?? "")?.[1];
  if (link === undefined) return undefined;
  const folder = resolve(dirname(path), link);
  return textOf(join(folder, "HEAD")) === undefined ? undefined : folder;
}

/** A worktree shares the configuration of its repository. */
function configOf(git: string): string {
  const common = textOf(join(git, "commondir"))?.trim();
  return textOf(join(common === undefined ? git : resolve(git, common), "config")) ?? "";
}

function remoteIn(config: string): string | undefined {
  const urls = new Map<string, string>();
  let remote: string | undefined;
  for (const line of config.split("\n")) {
    if (SECTION.test(line)) remote = REMOTE.exec(line)?.[1];
    const url = URL_LINE.exec(line)?.[1];
    if (remote !== undefined && url !== undefined && url !== "" && !urls.has(remote)) urls.set(remote, url);
  }
  return urls.get("origin") ?? urls.values().next().value;
}

/** Undefined while no branch is checked out. */
const branchIn = (git: string): string | undefined =>
  /^ref:\s*refs\/heads\/(.+?)\s*$/m.exec(textOf(join(git, "HEAD")) ?? "")?.[1];

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
