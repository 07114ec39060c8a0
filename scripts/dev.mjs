import { existsSync } from "node:fs";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));
if (existsSync(".env")) process.loadEnvFile(".env");
process.env.NODE_ENV = "development";
process.env.NEXT_TELEMETRY_DISABLED = "1";
await import("../server/main.ts");
