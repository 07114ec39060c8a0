import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { rootPath } from "@plimsoll/guard/node";
import { PlimsollError } from "./errors.ts";

/**
 * Makes a folder and those above it that are missing; one that is there is left alone. Node's own `recursive` never
 * comes back where a folder cannot be made below one that exists and the system calls that ENOENT, as under /proc.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (await isFolder(path)) return;
    const above = dirname(path);
    if (code !== "ENOENT" || above === path || (await isFolder(above))) throw error;
    await makeFolder(above, mode);
    await makeFolder(path, mode);
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );

/**
 * The folder at `path` for a server that runs as root: the path without links, of which only root can change any part.
 * For an ordinary user, `path` itself. The folder need not exist.
 * @throws PlimsollError `root_unsupported`, naming the part that another user can change
 */
export async function trustedPath(path: string): Promise<string> {
  const found = await rootPath(path);
  if (found.is === "trusted") return found.path;
  throw new PlimsollError(
    "root_unsupported",
    `As root, Plimsoll keeps its data only where no other user can change the path. ${found.part} ${found.why}.`,
    {
      hint: `Run: chown root '${found.part}' && chmod go-w '${found.part}'. Or set PLIMSOLL_HOME to a folder that only root can write, such as /var/lib/plimsoll, or start Plimsoll as an ordinary user.`,
    },
  );
}
