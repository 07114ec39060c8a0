import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
let folder: string;

/** A repository whose tests need one package, which npm installs without a registry. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-packages-"));
  const at = join(folder, "scripts/test-packages");
  await cp(join(root, "scripts/test-packages/install.mjs"), join(at, "install.mjs"));
  await cp(join(root, "packages/guard/src"), join(folder, "packages/guard/src"), { recursive: true });
  await mkdir(join(folder, "node_modules"));
  await symlink(join(root, "node_modules/tsx"), join(folder, "node_modules/tsx"));
  const files = {
    "package.json": { name: "tests", version: "1.0.0", dependencies: { small: "file:small" } },
    "package-lock.json": {
      name: "tests",
      version: "1.0.0",
      lockfileVersion: 3,
      packages: {
        "": { name: "tests", version: "1.0.0", dependencies: { small: "file:small" } },
        "node_modules/small": { resolved: "small", link: true },
        small: { version: "1.0.0" },
      },
    },
    "small/package.json": { name: "small", version: "1.0.0" },
  };
  await mkdir(join(at, "small"));
  for (const [name, content] of Object.entries(files))
    await writeFile(join(at, name), JSON.stringify(content));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const install = () =>
  run(process.execPath, ["--import", "tsx", "scripts/test-packages/install.mjs"], { cwd: folder });

it("the packages of the tests are installed once by runs that begin together, and linked", async () => {
  const outputs = await Promise.all([install(), install(), install()]);
  expect(outputs.filter(({ stdout }) => stdout.includes("Installing the packages"))).toHaveLength(1);
  expect(await readlink(join(folder, "node_modules/small"))).toBe(
    "../scripts/test-packages/node_modules/small",
  );
  expect((await install()).stdout).toBe("");
});

it("an installation that fails ends with an error, and the next run repeats it", async () => {
  const lock = join(folder, "scripts/test-packages/package-lock.json");
  await writeFile(lock, "{}");
  await expect(install()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("npm ci") });
  await expect(install()).rejects.toMatchObject({ stdout: expect.stringContaining("Installing") });
});
