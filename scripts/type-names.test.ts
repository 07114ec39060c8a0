import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const PACKAGES = readdirSync(join(root, "packages")).map((name) => `packages/${name}/src`);
const FOLDERS = ["app", "bench", "components", "e2e", "examples", "scripts", "server", ...PACKAGES];
/** `export type A = module.A` gives a type another place, not another meaning. */
const DECLARED = /^export (?:interface|class|enum|type) (\w+)\b(?! = \w+\.\1;)/gm;

function sources(folder: string): string[] {
  // The only folder in scripts/ holds the packages of the tests.
  const paths = readdirSync(join(root, folder), { recursive: folder !== "scripts", encoding: "utf8" });
  return paths
    .filter((path) => /\.tsx?$/.test(path) && !/(^|\/)(generated|node_modules)\//.test(path))
    .map((path) => join(folder, path));
}

test("no two exported types share a name", () => {
  const declared = new Map<string, string[]>();
  for (const path of FOLDERS.flatMap(sources)) {
    for (const [, name] of readFileSync(join(root, path), "utf8").matchAll(DECLARED)) {
      declared.set(name!, [...(declared.get(name!) ?? []), path]);
    }
  }
  expect(declared.size).toBeGreaterThan(300);
  expect(Object.fromEntries([...declared].filter(([, paths]) => paths.length > 1))).toEqual({});
});
