import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleDemo, bundleServer } from "./bundle.mjs";
import { generate } from "./generate.mjs";
import { root } from "./root.mjs";
import { hashSources, recordBuild } from "./sources.mjs";

/** The package that brings the command-line programs knows how they are made. */
const programs = join(root, "packages/cli/build.mjs");

/** Builds all there is; throws an Error whose message is the tool's own output. */
export async function buildAll() {
  const sources = hashSources();
  mkdirSync(join(root, "dist"), { recursive: true });
  await step("database client", async () => generate());
  await step("server", bundleServer);
  await step("demo", bundleDemo);
  if (existsSync(programs)) await step("programs", () => run([programs]));
  if (existsSync(join(root, "app"))) await step("pages", buildPages);
  recordBuild(sources);
}

async function step(name, work) {
  const start = performance.now();
  console.log(`Building ${name} ...`);
  await work();
  console.log(`Built ${name} in ${((performance.now() - start) / 1000).toFixed(1)} s.`);
}

function buildPages() {
  const next = createRequire(import.meta.url).resolve("next/dist/bin/next");
  return run([next, "build"], { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" });
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs a Node program to its end; what it prints is shown only when it fails. */
function run(args, env = {}) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  // Ctrl-C reaches the child through the terminal; `kill` reaches only us.
  const end = (signal) => {
    child.kill(signal);
    process.exit(1);
  };
  for (const signal of SIGNALS) process.once(signal, end);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => {
      for (const signal of SIGNALS) process.off(signal, end);
    });
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`${args.join(" ")} failed:\n${output}`)),
    );
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await buildAll();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
