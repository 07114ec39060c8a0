import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./root.mjs";

/** What the build is made from. A folder stands for all that is in it. */
const SOURCES = [
  "app",
  "components",
  "examples",
  "packages",
  "prisma",
  "public",
  "scripts",
  "server",
  "next.config.mjs",
  "package-lock.json",
  "postcss.config.mjs",
  "tsconfig.json",
];

const LEFT_OUT = new Set(["node_modules", "dist", "generated", ".next"]);
const isTest = (name) => /\.test\.[cm]?[jt]sx?$/.test(name);
const record = join(root, "dist", "build.json");

/**
 * A hash of the content of every source. Content and not time: a fresh checkout, a copy or a switched
 * branch changes times without a change, or the reverse. About 40 ms.
 */
export function hashSources() {
  const hash = createHash("sha256").update(process.versions.modules);
  const add = (path) => {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  };
  const walk = (path) => {
    const entries = readdirSync(join(root, path), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (LEFT_OUT.has(entry.name) || isTest(entry.name)) continue;
      if (entry.isDirectory()) walk(`${path}/${entry.name}`);
      else if (entry.isFile()) add(`${path}/${entry.name}`);
    }
  };
  for (const path of SOURCES) {
    if (!existsSync(join(root, path))) continue;
    if (/\.\w+$/.test(path)) add(path);
    else walk(path);
  }
  return hash.digest("hex");
}

/** True when the last whole build was made from the sources as they are now. */
export function isBuilt() {
  if (!existsSync(record) || !existsSync(join(root, "dist/server/main.js"))) return false;
  return JSON.parse(readFileSync(record, "utf8")).sources === hashSources();
}

/** @param {string} sources hash of the sources before the build began: a change during it counts as new */
export function recordBuild(sources) {
  writeFileSync(record, `${JSON.stringify({ sources })}\n`);
}
