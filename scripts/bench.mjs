import { spawn } from "node:child_process";
import { join } from "node:path";
import { findChromium } from "./ensure-chromium.mjs";
import { root } from "./root.mjs";
import { isBuilt } from "./sources.mjs";

/** Measures the built server: builds it when stale, then runs bench/main.ts in a process of its own. */
async function main() {
  if (!isBuilt()) {
    console.error("Building Plimsoll first; this takes about a minute.");
    const { buildAll } = await import("./build.mjs");
    await redirected(buildAll);
  }
  const chromium = await findChromium().catch((error) => console.error(error.message));
  const child = spawn(
    process.execPath,
    ["--import", import.meta.resolve("tsx"), join(root, "bench/main.ts"), ...process.argv.slice(2)],
    {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, ...(chromium ? { PLIMSOLL_CHROMIUM: chromium } : {}) },
    },
  );
  // Ctrl-C reaches the child through the terminal, `kill` only us; either way it cleans up, and we wait.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}

/** Runs `work` with what it prints sent to the error stream: a reader of --json wants results alone. */
async function redirected(work) {
  const { log } = console;
  console.log = console.error;
  try {
    await work();
  } finally {
    console.log = log;
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
