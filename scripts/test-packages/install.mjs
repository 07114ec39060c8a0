// Installs what only tests and checks need, and links it into node_modules, where every import finds it. So `npm ci`
// brings only what the server needs.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const installed = join(import.meta.dirname, "node_modules");
const shared = join(import.meta.dirname, "../../node_modules");
const lock = readFileSync(join(import.meta.dirname, "package-lock.json"), "utf8");
const read = (path) => JSON.parse(readFileSync(path, "utf8"));

/** npm ci deletes the folder first, so an interrupted installation leaves no stamp. */
const stamp = join(installed, ".installed");
const wanted = `${process.platform} ${process.arch}\n${lock}`;

function isInstalled() {
  try {
    return readFileSync(stamp, "utf8") === wanted;
  } catch {
    return false;
  }
}

/** Leaves what `npm ci` installed itself: scripts/lockfile.test.ts compares the versions. */
function link(target, path) {
  mkdirSync(dirname(path), { recursive: true });
  try {
    symlinkSync(relative(dirname(path), target), path);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
}

if (!isInstalled()) {
  console.log("Installing the packages of the tests");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: import.meta.dirname,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
  writeFileSync(stamp, wanted);
}
for (const name of Object.keys(read(join(import.meta.dirname, "package.json")).dependencies)) {
  link(join(installed, name), join(shared, name));
  const { bin = {} } = read(join(installed, name, "package.json"));
  for (const program of typeof bin === "string" ? [basename(name)] : Object.keys(bin)) {
    link(join(installed, ".bin", program), join(shared, ".bin", program));
  }
}
