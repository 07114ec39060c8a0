import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// Everything is bundled, so that the package installs alone and without dependencies.
const here = dirname(fileURLToPath(import.meta.url));
const outdir = join(here, "dist");

await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/plimsoll.ts", "src/phantom.ts"],
  outdir,
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node20.19",
  tsconfig: join(here, "../../tsconfig.json"),
  banner: {
    // commander is CommonJS and requires node's own modules.
    js: 'import { createRequire as plimsollRequire } from "node:module"; const require = plimsollRequire(import.meta.url);',
  },
  metafile: true,
  logLevel: "warning",
});

for (const name of ["plimsoll.js", "phantom.js"]) {
  const path = join(outdir, name);
  await writeFile(path, `#!/usr/bin/env node\n${await readFile(path, "utf8")}`);
  await chmod(path, 0o755);
}
await writeFile(join(outdir, "THIRD-PARTY-LICENSES.txt"), await licences());

/** What is bundled keeps its licence. */
async function licences() {
  const roots = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const root = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
    if (root !== undefined) roots.add(join(here, root));
  }
  const texts = [];
  for (const root of [...roots].sort()) {
    const { name, version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const file = (await readdir(root)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file to keep`);
    texts.push(`${name} ${version}\n\n${(await readFile(join(root, file), "utf8")).trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(72)}\n\n`);
}
