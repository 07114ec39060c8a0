import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePrograms, bundleServer } from "./bundle.mjs";
import { generate } from "./generate.mjs";
import { root } from "./root.mjs";
import { hashSources, recordBuild } from "./sources.mjs";

/** Builds all there is; throws an Error whose message is the tool's own output. */
export async function buildAll() {
  const sources = hashSources();
  mkdirSync(join(root, "dist"), { recursive: true });
  await step("database client", async () => generate());
  await step("server", bundleServer);
  await step("programs", bundlePrograms);
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
  const child = spawn(process.execPath, [next, "build"], {
    cwd: root,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`next build failed:\n${output}`)),
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
