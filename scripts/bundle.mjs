import { existsSync } from "node:fs";
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

/** Makes dist/server/main.js from server/main.ts. */
export function bundleServer() {
  return build({
    absWorkingDir: root,
    entryPoints: ["./server/main.ts"],
    outfile: "dist/server/main.js",
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    packages: "external",
    sourcemap: "linked",
    plugins: [ownPackages],
    logLevel: "silent",
  });
}
