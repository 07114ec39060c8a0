import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { removeHome } from "../server/testing/launch.ts";
import { makeTemplate } from "./support/template.ts";

/** The browser tests run against the production build, so build what is stale. */
export default async function globalSetup(): Promise<() => Promise<void>> {
  const { status } = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error("npm run build failed. See its output above.");
  const template = await makeTemplate();
  return () => removeHome(template);
}
