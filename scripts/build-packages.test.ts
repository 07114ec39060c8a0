import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Three empty projects: one with only the guard, one with the guard and the runtime, one with the protocol and its
 * dependencies.
 * packages/cli/src/package.test.ts tests the command line.
 */
let folder = "";
let alone = "";
let withRuntime = "";
let withProtocol = "";

/** Packs a package as npm publishes it and returns the tarball's path. */
async function pack(path: string, ...flags: string[]): Promise<string> {
  const { stdout } = await run("npm", ["pack", path, "--json", "--pack-destination", folder, ...flags], {
    cwd: root,
  });
  // The output of the build comes first.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("[\n")));
  return join(folder, filename);
}

async function install(where: string, tarballs: readonly string[]): Promise<void> {
  await mkdir(where);
  await writeFile(join(where, "package.json"), '{ "private": true, "type": "module" }');
  // Offline: every package to install is in a tarball.
  await run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", ...tarballs], {
    cwd: where,
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-packages-"));
  alone = join(folder, "alone");
  withProtocol = join(folder, "with-protocol");
  const guard = await pack("./packages/guard");
  await install(alone, [guard]);
  withRuntime = join(folder, "with-runtime");
  await install(withRuntime, [guard, await pack("./packages/runtime")]);
  const { dependencies } = JSON.parse(await readFile(join(root, "packages/protocol/package.json"), "utf8"));
  const tarballs = [await pack("./packages/protocol")];
  for (const name of Object.keys(dependencies)) {
    tarballs.push(await pack(`./node_modules/${name}`, "--ignore-scripts"));
  }
  await install(withProtocol, tarballs);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Manifest {
  exports: Record<string, string | Record<string, string>>;
  dependencies?: Record<string, string>;
  license: string;
  engines: Record<string, string>;
}
const manifestOf = async (where: string, name: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(where, "node_modules/@plimsoll", name, "package.json"), "utf8"));

/** The entry points, such as `@plimsoll/guard/openai`. */
const importsOf = (name: string, { exports }: Manifest) =>
  Object.keys(exports)
    .filter((path) => path !== "./package.json")
    .map((path) => `@plimsoll/${name}${path.slice(1)}`);

/** This Node, and the programs of other versions in VITEST_PLIMSOLL_NODES. */
const NODES = [
  process.execPath,
  ...(process.env.VITEST_PLIMSOLL_NODES ?? "").split(delimiter).filter(Boolean),
];

/** The exports of a module, imported in a separate process of each Node. */
async function namesIn(where: string, module: string): Promise<string[]> {
  const code = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(module)}))))`;
  const names = await Promise.all(
    NODES.map(async (node): Promise<string[]> => {
      const { stdout } = await run(node, ["--input-type=module", "--eval", code], {
        cwd: where,
        env: { PATH: process.env.PATH, NODE_ENV: "test" },
      });
      return JSON.parse(stdout);
    }),
  );
  for (const others of names) expect(others, module).toEqual(names[0]);
  return names[0]!;
}

/** The modules that each file of an installed package imports. */
async function modulesNamed(where: string, name: string, ending: string): Promise<Map<string, string[]>> {
  const dist = join(where, "node_modules/@plimsoll", name, "dist");
  const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith(ending));
  const named = new Map<string, string[]>();
  for (const file of files) {
    const text = await readFile(join(dist, file), "utf8");
    const modules = text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"]+)"/g);
    named.set(
      file.replaceAll("\\", "/"),
      [...modules].map(([, module]) => module!),
    );
  }
  return named;
}
const isOurs = (module: string) => module.startsWith("./") || module.startsWith("../");

async function compile(where: string, code: string): Promise<string> {
  const file = `consumer-${Math.random().toString(36).slice(2)}.ts`;
  await writeFile(join(where, file), code);
  const flags =
    "--noEmit --strict --target es2023 --lib es2023,dom --module nodenext --moduleResolution nodenext --types";
  const tsc = join(root, "node_modules/typescript-native/bin/tsc");
  return run(process.execPath, [tsc, ...flags.split(" "), "", file], { cwd: where }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}

describe("the packed guard", () => {
  it("installs without dependencies", async () => {
    const installed = (await readdir(join(alone, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(installed).toEqual(["@plimsoll"]);
    expect(await readdir(join(alone, "node_modules/@plimsoll"))).toEqual(["guard"]);
    const manifest = await manifestOf(alone, "guard");
    expect(manifest.dependencies).toBeUndefined();
    expect(manifest).toMatchObject({ license: "Apache-2.0", engines: { node: ">=20.19.0" } });
    const files = await readdir(join(alone, "node_modules/@plimsoll/guard"));
    expect(files.sort()).toEqual(["README.md", "dist", "package.json"]);
  });

  it("exports every folder with an index, and Node can import each", async () => {
    const source = join(root, "packages/guard/src");
    const parts = (await readdir(source, { recursive: true }))
      .map((file) => /^(?:([^/\\]+)[/\\])?index\.ts$/.exec(file))
      .filter((match) => match !== null)
      .map(([, part]) => (part === undefined ? "@plimsoll/guard" : `@plimsoll/guard/${part}`));
    const manifest = await manifestOf(alone, "guard");
    expect(importsOf("guard", manifest).sort()).toEqual(parts.sort());
    for (const target of Object.values(manifest.exports)) {
      if (typeof target !== "string") expect(Object.keys(target)).toEqual(["types", "default"]);
    }
    for (const module of parts) expect(await namesIn(alone, module), module).not.toEqual([]);
    expect(await namesIn(alone, "@plimsoll/guard")).toEqual([
      "GuardError",
      "ONE_AT_A_TIME",
      "createGuard",
      "fit",
      "recallTool",
    ]);
  });

  it("imports only Node's modules, and only in node/", async () => {
    const named = await modulesNamed(alone, "guard", ".js");
    expect(named.size).toBeGreaterThan(12);
    for (const [file, modules] of named) {
      const outside = modules.filter((module) => !isOurs(module));
      expect(
        file.startsWith("node/")
          ? outside.filter((module) => !builtinModules.includes(module.slice(5)))
          : outside,
        file,
      ).toEqual([]);
    }
  });

  it("has types that compile without another package", async () => {
    for (const [file, modules] of await modulesNamed(alone, "guard", ".d.ts")) {
      expect(
        modules.filter((module) => !isOurs(module) && !module.startsWith("node:")),
        file,
      ).toEqual([]);
      expect(
        modules.filter((module) => module.endsWith(".ts")),
        file,
      ).toEqual([]);
    }
    const consumer = `
      import { createGuard, fit, type GuardState, type Message } from "@plimsoll/guard";
      import { chatShape, guardChat } from "@plimsoll/guard/openai";
      import { createReporter } from "@plimsoll/guard/report";
      import { ContextWatcher } from "@plimsoll/guard/watcher";
      const reporter = createReporter({ url: "http://127.0.0.1:1" });
      const guard = createGuard({ identity: { harness: "h" }, onEvent: reporter.record }).conversation("s");
      const history: Message[] = [{ role: "user", content: "Hello" }];
      const { messages } = await fit(guard, history);
      const tokens: number | undefined = guard.observe({ prompt_tokens: messages.length }).level;
      const state: GuardState = guard.snapshot();
      createGuard({ identity: { harness: "h", session: "s" }, onEvent: (event) => {
        if (event.type === "masked") { const sum: number = event.observations; void sum; }
      } });
      void [tokens, state, chatShape, guardChat, ContextWatcher];
    `;
    expect(await compile(alone, consumer)).toBe("");
    const wrong =
      'import { createGuard } from "@plimsoll/guard";\ncreateGuard({ identity: { harness: 1 } });';
    expect(await compile(alone, wrong)).toContain("error TS");
  });
});

it("the guard's root exports at most 12 names", async () => {
  const declared = await readFile(join(alone, "node_modules/@plimsoll/guard/dist/index.d.ts"), "utf8");
  const names = [...declared.matchAll(/export \{([^}]*)\}/g)].flatMap(([, list]) => list!.split(","));
  expect(names.length).toBeGreaterThan(5);
  expect(names.length).toBeLessThanOrEqual(12);
});

describe("the packed runtime", () => {
  it("installs with the guard alone, and Node can import it", async () => {
    expect((await readdir(join(withRuntime, "node_modules/@plimsoll"))).sort()).toEqual(["guard", "runtime"]);
    const manifest = await manifestOf(withRuntime, "runtime");
    expect(manifest).toMatchObject({ license: "Apache-2.0", engines: { node: ">=20.19.0" } });
    expect(manifest.dependencies).toEqual({ "@plimsoll/guard": "0.1.0" });
    expect(importsOf("runtime", manifest)).toEqual(["@plimsoll/runtime", "@plimsoll/runtime/node"]);
    expect(await namesIn(withRuntime, "@plimsoll/runtime")).toEqual(
      expect.arrayContaining(["orchestrate", "runLoop", "runSessions"]),
    );
    expect(await namesIn(withRuntime, "@plimsoll/runtime/node")).toContain("fileLoopStore");
    for (const [file, modules] of await modulesNamed(withRuntime, "runtime", ".js")) {
      const outside = modules.filter((module) => !isOurs(module) && !module.startsWith("@plimsoll/guard"));
      if (!file.startsWith("node/")) expect(outside, file).toEqual([]);
    }
  });

  it("has types that compile with those of the guard", async () => {
    const consumer = `
      import type { GuardOptions } from "@plimsoll/guard";
      import { type LoopOptions, orchestrate, runLoop, runSessions } from "@plimsoll/runtime";
      import { fileLoopStore } from "@plimsoll/runtime/node";
      const onEvent: GuardOptions<never>["onEvent"] = (event) => void event.at;
      const options: Pick<LoopOptions, "store" | "onEvent"> = { store: fileLoopStore("loop.json"), onEvent };
      void [options, orchestrate, runLoop, runSessions];
    `;
    expect(await compile(withRuntime, consumer)).toBe("");
  });
});

describe("the packed protocol", () => {
  it("can be imported by Node", async () => {
    const manifest = await manifestOf(withProtocol, "protocol");
    for (const module of importsOf("protocol", manifest)) {
      expect(await namesIn(withProtocol, module), module).not.toEqual([]);
    }
    expect(await namesIn(withProtocol, "@plimsoll/protocol/events")).toEqual(
      expect.arrayContaining(["parseEvent"]),
    );
  });

  it("imports exactly its declared dependencies, and none in its pure part", async () => {
    const { dependencies = {} } = await manifestOf(withProtocol, "protocol");
    const named = await modulesNamed(withProtocol, "protocol", ".js");
    const outside = new Set([...named.values()].flat().filter((module) => !isOurs(module)));
    expect([...outside].sort()).toEqual(Object.keys(dependencies).sort());
    // The pure part also runs where no package is installed.
    const bare = join(folder, "bare");
    await cp(join(withProtocol, "node_modules/@plimsoll/protocol/dist"), bare, { recursive: true });
    expect(await namesIn(bare, "./pure.js")).toContain("thresholdTokens");
    await expect(namesIn(bare, "./events.js")).rejects.toThrow("zod");
  });

  it("has types that compile", async () => {
    const consumer = `
      import { parseEvent, type PlimsollEvent } from "@plimsoll/protocol/events";
      import { lineOf } from "@plimsoll/protocol/pure";
      const parsed = parseEvent({});
      if (parsed.ok) { const event: PlimsollEvent = parsed.event; void event.at; }
      void lineOf;
    `;
    expect(await compile(withProtocol, consumer)).toBe("");
  });
});
