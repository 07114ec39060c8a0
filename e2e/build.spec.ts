import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "./fixtures.ts";

const run = promisify(execFile);

// Next writes to .next while it serves. Those files must not count as the output of a build.
test("serving a page leaves the build up to date", async ({ page }) => {
  await page.goto("/login");
  await page.goto("/");
  const root = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await run("npm", ["run", "--silent", "build"], { cwd: root });
  expect(stdout).toContain("Ran 0 scripts");
});
