import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./root.mjs";

/** Takes our own packages from source; all others stay imports. */
const ownPackages = {
  name: "own-packages",
  setup({ onResolve }) {
    onResolve({ filter: /^@plimsoll\// }, ({ path }) => {
      const [, name, part] = /^@plimsoll\/([^/]+)(?:\/(.+))?$/.exec(path);
      const source = join(root, "packages", name, "src");
      const candidates = part ? [`${part}.ts`, `${part}/index.ts`] : ["index.ts"];
      const found = candidates.map((file) => join(source, file)).find((file) => existsSync(file));
      return found
        ? { path: found }
        : { errors: [{ text: `${path} has no source under packages/${name}/src` }] };
    });
  },
};

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  format: "esm",
  packages: "external",
  sourcemap: "linked",
  plugins: [ownPackages],
  logLevel: "silent",
};

/** server/main.ts -> dist/server/main.js */
export function bundleServer() {
  return build({ ...common, entryPoints: ["server/main.ts"], outfile: "dist/server/main.js" });
}

/**
 * The programs that packages/cli/package.json names under `bin`: dist/x.js is made from src/x.ts. They
 * carry everything they use, so that they also run where nothing is installed.
 * @returns the names of the programs made
 */
export async function bundlePrograms() {
  const folder = join(root, "packages", "cli");
  if (!existsSync(join(folder, "package.json"))) return [];
  const { bin = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.entries(bin)
    .map(([name, path]) => ({ name, out: path.replace(/^\.\//, "").replace(/^dist\/|\.js$/g, "") }))
    .filter(({ out }) => existsSync(join(folder, "src", `${out}.ts`)));
  if (entries.length === 0) return [];
  await build({
    ...common,
    packages: "bundle",
    entryPoints: Object.fromEntries(entries.map(({ out }) => [out, join(folder, "src", `${out}.ts`)])),
    outdir: join(folder, "dist"),
    // Packages in the older module format call `require`, which an ES module does not have.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module";\nconst require = __createRequire(import.meta.url);',
    },
  });
  return entries.map(({ name }) => name);
}
