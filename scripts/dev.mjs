import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { generate } from "./generate.mjs";
import { root } from "./root.mjs";

process.chdir(root);
if (existsSync(".env")) process.loadEnvFile(".env");
generate();

// The server restarts when a file it imports changes; pages are Next's, which reloads them by itself.
const tsx = createRequire(import.meta.url).resolve("tsx/cli");
const child = spawn(process.execPath, [tsx, "watch", "--clear-screen=false", join(root, "server/main.ts")], {
  stdio: "inherit",
  env: { ...process.env, NODE_ENV: "development", NEXT_TELEMETRY_DISABLED: "1" },
});
// Ctrl-C reaches the child by itself, through the terminal; waiting for it lets the database stop cleanly.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.once("exit", (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
});
