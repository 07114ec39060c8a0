import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  peerDependencies?: Record<string, string>;
  os?: string[];
  cpu?: string[];
  hasInstallScript?: boolean;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
/** What `npm ci` installs, and what `npm test` installs besides. */
const LOCKFILES = ["../package-lock.json", "test-packages/package-lock.json"] as const;
const [server, tests] = LOCKFILES.map((path) => read(path).packages as Record<string, LockedPackage>);
const testPackages = Object.keys(read("test-packages/package.json").dependencies);
const { installScripts, withoutIntegrity } = read("supply-chain.json") as {
  installScripts: Record<string, string>;
  withoutIntegrity: { reason: string; packages: string[] };
};

/** What npm downloads: not the packages of this repository, nor the links to them. */
const downloadedBy = (packages: Record<string, LockedPackage>) =>
  Object.entries(packages)
    .filter(([path, { link }]) => path.includes("node_modules/") && !link)
    .map(([path, locked]) => ({ name: path.replace(/^node_modules\//, ""), ...locked }));
const downloaded = [server!, tests!].flatMap(downloadedBy);

const { workspaces } = read("../package.json") as { workspaces: string[] };
const namesOf = (some: { name: string }[]) => [...new Set(some.map(({ name }) => name))].sort();

it("every package that npm downloads has a sha512 in its lockfile, but for those listed with the reason", () => {
  expect(downloaded.length).toBeGreaterThan(500);
  const without = downloaded.filter(({ integrity }) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""));
  expect(namesOf(without)).toEqual([...withoutIntegrity.packages].sort());
  expect(withoutIntegrity.reason).not.toBe("");
});

it("a package without a hash is an optional program of a single platform", () => {
  const listed = downloaded.filter(({ name }) => withoutIntegrity.packages.includes(name));
  const needed = listed.filter(({ optional, os, cpu }) => !optional || (os ?? cpu) === undefined);
  expect(namesOf(needed)).toEqual([]);
});

it("each program for Linux on x64 is there for arm64 too, in the same version", () => {
  // A leftover of the build of trpc-to-openapi, which loads nothing of it.
  const unused = ["@rollup/rollup-linux-x64-gnu"];
  for (const packages of [server!, tests!]) {
    const programs = downloadedBy(packages).filter(
      ({ os, cpu }) => os?.includes("linux") && cpu?.includes("x64"),
    );
    expect(programs.length).toBeGreaterThan(5);
    const armOf = (name: string) => packages[`node_modules/${name.replace("x64", "arm64")}`];
    const missing = programs.filter(({ name, version }) => armOf(name)?.version !== version);
    expect(namesOf(missing).filter((name) => !unused.includes(name))).toEqual([]);
  }
});

it("the lockfiles name no registry, git repository or folder outside", () => {
  const outside = downloaded.filter(({ resolved }) => resolved !== undefined);
  expect(namesOf(outside)).toEqual([]);
});

it("the packages with install scripts are exactly those listed with the reason", () => {
  const scripted = downloaded.filter(({ hasInstallScript }) => hasInstallScript);
  expect(namesOf(scripted)).toEqual(Object.keys(installScripts).sort());
  expect(Object.values(installScripts).filter((reason) => reason.length < 20)).toEqual([]);
});

it("package.json pins every dependency to one version", () => {
  for (const path of ["", "scripts/test-packages/", ...workspaces.map((folder) => `${folder}/`)]) {
    const { dependencies, devDependencies, optionalDependencies } = read(`../${path}package.json`);
    const ranges = Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter(([, version]) => !/^(npm:(@[\w-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `${path}${name}@${version}`);
    expect(ranges).toEqual([]);
  }
});

it("no package of the tests has another version than the same package of the server", () => {
  const direct = testPackages.map((name) => `node_modules/${name}`);
  const different = direct.filter((path) => server![path] && server![path].version !== tests![path]?.version);
  expect(different).toEqual([]);
});

it("a test or a tool uses each package of the tests", () => {
  const folders = ["app", "bench", "components", "e2e", "examples", "fuzz", "packages", "scripts", "server"];
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: folder !== "scripts", encoding: "utf8" })
      .filter(
        (path) => /\.(ts|tsx|mjs)$/.test(path) && !/(^|[/\\])(dist|generated|node_modules)[/\\]/.test(path),
      )
      .map((path) => join(root, folder, path)),
  );
  files.push(join(root, "package.json"), join(root, "biome.json"));
  /** A package at the beginning of a text, or in a path or a command within it. */
  const named = /(?:["']|\bnode_modules\/)(?:[./]*node_modules\/)?((?:@[\w.-]+\/)?[\w.-]+)(?=["'/ ])/g;
  const used = new Set(
    files.flatMap((path) => [...readFileSync(path, "utf8").matchAll(named)].map(([, name]) => name)),
  );
  expect(testPackages.filter((name) => !used.has(name))).toEqual([]);
});
