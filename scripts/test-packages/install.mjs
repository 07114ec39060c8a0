// Installs what only tests and checks need, and links it into node_modules, where every import finds it. So `npm ci`
// brings only what the server needs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { lockFile } from "../../packages/guard/src/node/file-lock.ts";

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

/** Waits while another process installs them. */
async function locked() {
  for (;;) {
    try {
      return await lockFile(join(shared, ".test-packages"));
    } catch (error) {
      if (error.code !== "store_locked") throw error;
      await sleep(500);
    }
  }
}

async function install() {
  const lock = await locked();
  try {
    if (isInstalled()) return;
    console.log("Installing the packages of the tests");
    const command = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    const npm = spawn("npm", command, { cwd: import.meta.dirname, stdio: "inherit" });
    const [code] = await once(npm, "close");
    if (code !== 0) throw new Error(`npm ${command.join(" ")} failed in ${import.meta.dirname}.`);
    writeFileSync(stamp, wanted);
  } finally {
    await lock.release();
  }
}

if (!isInstalled()) await install();
for (const name of Object.keys(read(join(import.meta.dirname, "package.json")).dependencies)) {
  link(join(installed, name), join(shared, name));
  const { bin = {} } = read(join(installed, name, "package.json"));
  for (const program of typeof bin === "string" ? [basename(name)] : Object.keys(bin)) {
    link(join(installed, ".bin", program), join(shared, ".bin", program));
  }
}
