import { existsSync } from "node:fs";
import { join } from "node:path";

const file = join(import.meta.dirname, "../.env");
// Variables that are already set take precedence over the file.
if (existsSync(file)) process.loadEnvFile(file);
process.env.NODE_ENV ||= "production";
// The server runs in this process, so signals and the exit code are its own.
await import("../dist/server/main.js");
