import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that holds `prisma/`; the same whether this runs from source or from the bundle in dist. */
export function projectRoot(from = fileURLToPath(import.meta.url)): string {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "prisma", "schema.prisma"))) return folder;
    if (folder === dirname(folder)) throw new Error(`no prisma/schema.prisma above ${from}`);
  }
}
