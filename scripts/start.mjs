import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./root.mjs";
import { isBuilt } from "./sources.mjs";

process.chdir(root);
// A value that is in the environment already wins over the file.
if (existsSync(".env")) process.loadEnvFile(".env");
process.env.NODE_ENV ||= "production";

try {
  if (!isBuilt()) {
    console.log("Building Plimsoll; this happens once after each change and takes about a minute.");
    // Loaded only now: it brings esbuild with it.
    const { buildAll } = await import("./build.mjs");
    await buildAll();
  }
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
// In this process, so that signals and the exit code are the server's own.
await import(pathToFileURL(join(root, "dist/server/main.js")).href);
