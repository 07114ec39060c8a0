import { stat } from "node:fs/promises";
import { ADAPTERS, type Places } from "@plimsoll/harnesses/bridge";
import { sessionFiles } from "../bridge/newest-session.ts";
import { CliError } from "../errors.ts";

/**
 * The recording of a session on this machine: a path, a session id or a part of one; by default that of the shell, which Claude Code
 * names, else the one that was written last.
 * @throws CliError if there is none, or if several sessions have the part
 */
export async function findRecording(asked: string | undefined, places: Places): Promise<string> {
  if (asked !== undefined && (await stat(asked).catch(() => undefined)) !== undefined) return asked;
  const name = asked ?? places.env.CLAUDE_CODE_SESSION_ID ?? "";
  const folders = ADAPTERS.flatMap(({ sessions }) => (sessions === undefined ? [] : [sessions(places)]));
  const found = (await Promise.all(folders.map((folder) => sessionFiles(folder, name)))).flatMap(
    ({ latest }) => latest,
  );
  if (asked !== undefined && found.length > 1)
    throw new CliError(`Several recordings have ${JSON.stringify(asked)} in their name.`, {
      hint: `Give one of them:\n${found.map((path) => `  ${path}`).join("\n")}`,
    });
  const newest = await newestOf(found);
  if (newest !== undefined) return newest;
  throw new CliError(
    name === ""
      ? "There are no recordings on this machine."
      : `No recording has ${JSON.stringify(name)} in its name.`,
    {
      hint: `Looked in:\n${folders.map((folder) => `  ${folder}`).join("\n")}\nGive the path of a recording.`,
    },
  );
}

async function newestOf(paths: readonly string[]): Promise<string | undefined> {
  const written = await Promise.all(
    paths.map(async (path) => ({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  return written.sort((a, b) => b.at - a.at)[0]?.path;
}
