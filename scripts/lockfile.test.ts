import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  hasInstallScript?: boolean;
}

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const { packages } = read("../package-lock.json") as { packages: Record<string, LockedPackage> };
const { installScripts, withoutIntegrity } = read("supply-chain.json") as {
  installScripts: Record<string, string>;
  withoutIntegrity: { reason: string; packages: string[] };
};

/** What npm downloads: not the packages of this repository, nor the links to them. */
const downloaded = Object.entries(packages)
  .filter(([path, { link }]) => path.includes("node_modules/") && !link)
  .map(([path, locked]) => ({ name: path.replace(/^node_modules\//, ""), ...locked }));

const { workspaces } = read("../package.json") as { workspaces: string[] };
const namesOf = (some: { name: string }[]) => some.map(({ name }) => name).sort();

it("every package that npm downloads has a sha512 in the lockfile, but for those listed with the reason", () => {
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

it("the lockfile names no registry, git repository or folder outside", () => {
  const outside = downloaded.filter(({ resolved }) => resolved !== undefined);
  expect(namesOf(outside)).toEqual([]);
});

it("the packages with install scripts are exactly those listed with the reason", () => {
  const scripted = downloaded.filter(({ hasInstallScript }) => hasInstallScript);
  expect(namesOf(scripted)).toEqual(Object.keys(installScripts).sort());
  expect(Object.values(installScripts).filter((reason) => reason.length < 20)).toEqual([]);
});

it("package.json pins every dependency to one version", () => {
  for (const path of ["", ...workspaces.map((folder) => `${folder}/`)]) {
    const { dependencies, devDependencies, optionalDependencies } = read(`../${path}package.json`);
    const ranges = Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter(([, version]) => !/^(npm:(@[\w-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `${path}${name}@${version}`);
    expect(ranges).toEqual([]);
  }
});
