import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { declarationsOf } from "./declarations.mjs";
import { root } from "./root.mjs";

/** The packages that are published, each made into its own dist. Development reads their sources and never this. */
const PACKAGES = {
  protocol: buildProtocol,
  guard: buildGuard,
  cli: buildCli,
};

const source = (name, ...path) => join(root, "packages", name, "src", ...path);
const output = (name, ...path) => join(root, "packages", name, "dist", ...path);

async function buildProtocol() {
  const entries = ["index", "catalog", "pure"];
  await scripts("protocol", entries, { packages: "external" });
  for (const { path, text } of declarationsOf(entries.map((entry) => source("protocol", `${entry}.ts`)))) {
    write(output("protocol", relative(source("protocol"), path)), text);
  }
}

/** Carries the pure part of the protocol inside, as code and as types: a harness installs this and nothing else. */
async function buildGuard() {
  const entries = [
    "index",
    ...readdirSync(source("guard"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && existsSync(source("guard", entry.name, "index.ts")))
      .map((entry) => `${entry.name}/index`),
  ];
  await scripts("guard", entries);
  const inside = (path) =>
    path.startsWith(source("protocol"))
      ? output("guard", "protocol", relative(source("protocol"), path))
      : output("guard", relative(source("guard"), path));
  const files = declarationsOf(
    entries.map((entry) => source("guard", `${entry}.ts`)),
    // Its types are inferred from schemas; written out, they need no library of schemas.
    { writtenOut: source("protocol", "events.ts") },
  );
  for (const { path, text } of files) {
    const pure = relative(dirname(inside(path)), output("guard", "protocol", "pure.js"))
      .split(sep)
      .join("/");
    const local = pure.startsWith(".") ? pure : `./${pure}`;
    write(inside(path), text.replaceAll('"@plimsoll/protocol/pure"', JSON.stringify(local)));
  }
}

function buildCli() {
  const { status } = spawnSync(process.execPath, [join(root, "packages/cli/build.mjs")], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("The programs could not be built.");
}

async function scripts(name, entries, options = {}) {
  rmSync(output(name), { recursive: true, force: true });
  await build({
    absWorkingDir: join(root, "packages", name),
    entryPoints: entries.map((entry) => ({ in: source(name, `${entry}.ts`), out: entry })),
    outdir: output(name),
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[hash]",
    format: "esm",
    platform: "neutral",
    external: ["node:*"],
    target: "es2023",
    tsconfig: join(root, "tsconfig.json"),
    logLevel: "warning",
    ...options,
  });
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** @param {string} name `protocol`, `guard` or `cli` */
export async function buildPackage(name) {
  await PACKAGES[name]();
  copyFileSync(join(root, "LICENSE"), output(name, "LICENSE"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = process.argv.slice(2);
  for (const name of wanted.length > 0 ? wanted : Object.keys(PACKAGES)) {
    if (PACKAGES[name] === undefined) throw new Error(`There is no package ${name}.`);
    await buildPackage(name);
    console.log(`Made packages/${name}/dist.`);
  }
}
