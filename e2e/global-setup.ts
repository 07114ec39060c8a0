import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const BUILD_WHEN_STALE = `
const { isBuilt } = await import("./scripts/sources.mjs");
if (!isBuilt()) await (await import("./scripts/build.mjs")).buildAll();
`;

/** The tests run the production build, so rebuild it if it is stale. */
export default function globalSetup(): void {
  const { status } = spawnSync(process.execPath, ["--input-type=module", "--eval", BUILD_WHEN_STALE], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: "inherit",
    env: { ...process.env, NODE_ENV: "production" },
  });
  if (status !== 0) throw new Error("The build failed. See its output above.");
}
