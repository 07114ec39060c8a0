import { execFile, execFileSync } from "node:child_process";
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@playwright/test";
import { layoutOf } from "../server/db/postgres/layout.ts";
import { findPostmaster } from "../server/db/postgres/process-identity.ts";
import { type LaunchedServer, launchServer } from "../server/testing/launch.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

const has = (program: string) => {
  try {
    return execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }) !== "";
  } catch {
    return false;
  }
};
const missing = ["buildah", "debootstrap", "unshare"].filter((program) => !has(program));

test.describe.configure({ mode: "serial", timeout: 1_800_000 });
test.skip(missing.length > 0, `needs ${missing.join(", ")}`);
test.skip(process.getuid?.() !== 0, "needs root, to make a base for the image");

/** What `docker inspect` shows of an image. */
interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Volumes: Record<string, object>;
  Healthcheck: { Test: string[] };
}

let folder = "";
/** The file system of the image. */
let files = "";
let config: ImageConfig;

const buildah = (...args: string[]) =>
  run(
    "buildah",
    ["--storage-driver", "vfs", "--root", join(folder, "images"), "--runroot", join(folder, "run"), ...args],
    {
      cwd: root,
      maxBuffer: 1e8,
    },
  ).then(({ stdout }) => stdout.trim());

/** Debian with this machine's Node and npm: what node:22-bookworm-slim is, without a registry. */
async function makeBase(): Promise<void> {
  const base = join(folder, "base");
  await run("debootstrap", ["--variant=minbase", "bookworm", base], { maxBuffer: 1e8 });
  const npm = join(execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim(), "npm");
  await cp(process.execPath, join(base, "usr/local/bin/node"));
  await cp(npm, join(base, "usr/local/lib/node_modules/npm"), { recursive: true });
  await symlink("../lib/node_modules/npm/bin/npm-cli.js", join(base, "usr/local/bin/npm"));
  const container = await buildah("from", "scratch");
  await buildah("add", "--quiet", container, base, "/");
  await buildah("commit", "--quiet", container, "localhost/base");
  await buildah("rm", container);
  await rm(base, { recursive: true });
}

/** npm's registry and certificates on this machine. */
async function npmSettings(): Promise<string> {
  const path = join(folder, "npmrc");
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  const text = certificates === undefined ? "" : await readFile(certificates, "utf8");
  const ca = (text.match(/-----BEGIN[\s\S]*?END CERTIFICATE-----/g) ?? []).map(
    (one) => `ca[]=${JSON.stringify(one)}`,
  );
  const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  await writeFile(path, [`registry=${registry}`, ...ca, ""].join("\n"));
  return path;
}

test.beforeAll(async () => {
  test.setTimeout(1_800_000);
  // Not in memory: the layers of the image are large.
  folder = await mkdtemp(join(process.env.RUNNER_TEMP ?? "/var/tmp", "plimsoll-image-"));
  await chmod(folder, 0o711);
  await run("npm", ["run", "--silent", "package"], { cwd: root });
  await makeBase();
  const options = [
    "--isolation",
    "chroot",
    "--format",
    "docker",
    "--pull=never",
    "--build-arg",
    "BASE=localhost/base",
  ];
  const secret = `id=npmrc,src=${await npmSettings()}`;
  await buildah(
    "build",
    ...options,
    "--secret",
    secret,
    "--file",
    "deploy/Dockerfile",
    "--tag",
    "localhost/plimsoll",
    ".",
  );
  const inspected = JSON.parse(await buildah("inspect", "--type", "image", "localhost/plimsoll"));
  config = inspected.Docker.config;
  files = await buildah("mount", await buildah("from", "--pull=never", "localhost/plimsoll"));
});
test.afterAll(async () => {
  if (folder === "") return;
  await buildah("rm", "--all").catch(() => {});
  await rm(folder, { recursive: true, force: true });
});

/** A command in the image as its user: the root file system is read-only, /tmp is in memory, and the home is the only volume. */
function inImage(
  home: string,
  env: Record<string, string>,
  command: readonly string[],
): [string, ...string[]] {
  const mounts = `set -e
    mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp"
    mount --bind "$1" "$0/var/lib/plimsoll"
    root=$0 user=$2
    shift 2
    exec chroot --userspec="$user" "$root" env -i "$@"`;
  const settings = [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  return ["unshare", "--mount", "sh", "-c", mounts, files, home, config.User, ...settings, ...command];
}

/** A new volume has the owner that the image gives it. */
async function makeVolume(): Promise<string> {
  const home = await mkdtemp(join(folder, "home-"));
  const [uid, gid] = config.User.split(":").map(Number);
  await chown(home, uid!, gid!);
  return home;
}

test("the image runs without root and has one volume", async () => {
  expect(config.User).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  expect(Object.keys(config.Volumes)).toEqual(["/var/lib/plimsoll"]);
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const flags = config.Entrypoint.filter((word) => word.startsWith("--"));
  expect([...new Set(scripts.start.match(/--\S+/g))]).toEqual(flags);
});

test("a container serves pages from a read-only root, is healthy, and stops with its database", async () => {
  const home = await makeVolume();
  const env = { PORT: "0", PLIMSOLL_PAGES: "on" };
  const server: LaunchedServer = await launchServer({ home, command: inImage(home, env, config.Entrypoint) });
  try {
    expect((await fetch(`${server.url}/login`)).status).toBe(200);
    const health = (port: number) => {
      const [program, ...args] = inImage(home, { PORT: String(port) }, config.Healthcheck.Test.slice(1));
      return run(program, args).then(
        () => "healthy",
        () => "unhealthy",
      );
    };
    expect(await health(server.port)).toBe("healthy");
    expect(await health(9)).toBe("unhealthy");
    const [program, ...args] = inImage(home, { PORT: String(server.port) }, ["plimsoll", "login"]);
    expect((await run(program, args)).stdout).toContain("/login#");
  } finally {
    expect(await server.stop(), server.output()).toBe(0);
  }
  expect(server.errors()).toBe("");
  expect(await findPostmaster(layoutOf(home).data)).toBeUndefined();
});
