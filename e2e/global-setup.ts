import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The browser tests run against the production build, so build what is stale. */
export default function globalSetup(): void {
  const { status } = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error("npm run build failed. See its output above.");
}
