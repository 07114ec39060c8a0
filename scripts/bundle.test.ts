import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { bundleDemo } from "./bundle.mjs";

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** The folder of the package a file belongs to, as package-lock.json names it; undefined for our own. */
function packageOf(path: string): string | undefined {
  return /^(?:.*\/)?(node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(path)?.[0];
}

const readJson = async (path: string) => JSON.parse(await readFile(at(path), "utf8"));

it("the demo is made of what an installation without development packages has", async () => {
  const { metafile } = await bundleDemo({ write: false, metafile: true });
  const { packages } = await readJson("package-lock.json");
  const used = new Set(
    Object.keys(metafile.inputs)
      .map(packageOf)
      .filter((name) => name !== undefined),
  );
  expect(used).toContain("node_modules/openai");
  expect([...used].filter((name) => packages[name] === undefined || packages[name].dev)).toEqual([]);
  // What stays an import must come with Node.
  const [output] = Object.values(metafile.outputs);
  const outside = output!.imports.map(({ path }) => path.replace(/^node:/, ""));
  expect(outside.filter((path) => !builtinModules.includes(path))).toEqual([]);
});

it("so are the programs", async () => {
  const { packages } = await readJson("package-lock.json");
  const { devDependencies } = await readJson("packages/cli/package.json");
  const names = Object.keys(devDependencies).map((name) => `node_modules/${name}`);
  expect(names.filter((name) => packages[name] === undefined || packages[name].dev)).toEqual([]);
});
