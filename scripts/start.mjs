import { existsSync } from "node:fs";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));
// Variables that are already set take precedence over the file.
if (existsSync(".env")) process.loadEnvFile(".env");
process.env.NODE_ENV ||= "production";
// The server runs in this process, so signals and the exit code are its own.
await import("../dist/server/main.js");
