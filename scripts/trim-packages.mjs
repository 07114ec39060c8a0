// Deletes what Plimsoll never reads from node_modules, 220 of 810 MB: source maps, and Prisma's compilers for other
// databases. Without install scripts (npm ci --ignore-scripts) all works, and they stay.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const UNREAD = /\.map$|^query_compiler_.+\.(cockroachdb|mysql|sqlite|sqlserver)\./;

/** A link leads to a package of this repository, so it is not followed. */
function trim(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) trim(path);
    else if (entry.isFile() && UNREAD.test(entry.name)) rmSync(path);
  }
}

trim(join(import.meta.dirname, "../node_modules"));
