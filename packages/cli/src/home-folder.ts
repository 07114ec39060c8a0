import { homedir } from "node:os";
import { join } from "node:path";

export type Env = Record<string, string | undefined>;

/** The data directory. As root the default is /var/lib/plimsoll. */
export function homeFolder(env: Env, root = process.getuid?.() === 0): string {
  const given = env.PLIMSOLL_HOME?.replace(/^~(?=$|[/\\])/, homedir());
  return given || (root ? "/var/lib/plimsoll" : join(homedir(), ".plimsoll"));
}
