import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { projectRoot } from "../root.ts";

async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const files = paths.map(async (path) => [path.slice(folder.length), await readFile(path, "utf8")]);
  return Object.fromEntries(await Promise.all(files));
}

it("the client in the repository is the one that Prisma generates from schema.prisma", async () => {
  const root = projectRoot();
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-generated-"));
  try {
    await cp(join(root, "prisma"), join(folder, "prisma"), { recursive: true });
    const prisma = join(root, "node_modules/prisma/build/index.js");
    // Without this path, Prisma downloads an engine that `prisma generate` does not need.
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: prisma, CHECKPOINT_DISABLE: "1" };
    await promisify(execFile)(
      process.execPath,
      [prisma, "generate", "--schema", join(folder, "prisma/schema.prisma")],
      {
        cwd: root,
        env,
      },
    );
    const generated = await filesIn(join(folder, "server/db/generated"));
    expect(Object.keys(generated).length).toBeGreaterThan(20);
    const current = await filesIn(join(root, "server/db/generated"));
    const different = Object.keys({ ...generated, ...current }).filter(
      (path) => generated[path] !== current[path],
    );
    expect(different, "run `npm run generate` and commit its output").toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
