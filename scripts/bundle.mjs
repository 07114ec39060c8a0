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

export const demoBundle = join(root, "dist", "demo", "main.js");

/**
 * Makes dist/demo/main.js from examples/demo.ts, with all it needs inside: it runs where TypeScript cannot be read, and
 * where the libraries the examples are written with are gone.
 */
export function bundleDemo(options = {}) {
  return build({
    absWorkingDir: root,
    entryPoints: ["./examples/demo.ts"],
    outfile: demoBundle,
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    // Some of what is bundled is CommonJS and requires node's own modules.
    banner: {
      js: 'import { createRequire as plimsollRequire } from "node:module"; const require = plimsollRequire(import.meta.url);',
    },
    plugins: [ownPackages],
    logLevel: "silent",
    ...options,
  });
}
