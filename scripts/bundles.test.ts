import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsdown";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The folder of the package that a module belongs to; undefined for our own code. */
const packageFolderOf = (moduleId: string) =>
  /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(moduleId)?.[0];

/** What tsdown bundles, without writing it: the packages inside, and the modules still imported. */
async function bundleOf(options: { cwd: string }) {
  const bundles = await build({ ...options, write: false, clean: false, copy: [], logLevel: "silent" });
  const chunks = bundles.flatMap((bundle) => bundle.chunks).filter((chunk) => chunk.type === "chunk");
  const packages = new Set(chunks.flatMap((chunk) => chunk.moduleIds.map(packageFolderOf)));
  packages.delete(undefined);
  const own = new Set(chunks.map((chunk) => chunk.fileName));
  const imports = chunks.flatMap((chunk) => chunk.imports).filter((name) => !own.has(name));
  return {
    packages: [...packages].map((folder) => relative(root, folder!).replaceAll("\\", "/")),
    imports: imports.map((name) => name.replace(/^node:/, "")),
  };
}

it.each([
  ["the server", { cwd: join(root, "server") }, "node_modules/pg"],
  ["the demo", { cwd: join(root, "examples") }, "node_modules/openai"],
  ["the command line", { cwd: join(root, "packages/cli") }, "node_modules/commander"],
])(
  "%s bundles only packages that npm ci installs and imports only Node's modules",
  async (_, options, used) => {
    const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
    const { packages, imports } = await bundleOf(options);
    expect(packages).toContain(used);
    expect(packages.filter((name) => lock.packages[name] === undefined)).toEqual([]);
    expect(imports.filter((name) => !builtinModules.includes(name))).toEqual([]);
  },
);
