import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

async function bundle(entry: string, platform: "browser" | "node") {
  const { metafile, outputFiles } = await build({
    entryPoints: [here(entry)],
    tsconfig: here("../../../tsconfig.json"),
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform,
    metafile: true,
    // A dependency would show up as an import.
    external: [
      ...["zod", "@pydantic/*", "openai", "ai", "ollama", "@anthropic-ai/*"],
      ...["@google/*", "langchain", "@langchain/*", "@mastra/*"],
    ],
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map((one) => one.path));
  return { imports, bytes: outputFiles[0]!.contents.length };
}

/** Bytes of a minified bundle after gzip, as a browser loads it. */
async function gzipped(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: here("."), loader: "ts" },
    tsconfig: here("../../../tsconfig.json"),
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
  });
  return gzipSync(outputFiles[0]!.contents).length;
}

describe("bundles of the guard and the runtime", () => {
  it.each([
    "index",
    "conversation/index",
    "measure/index",
    "view/index",
    "../../runtime/src/index",
    "watcher/index",
    "policy-source/index",
    "report/index",
    "openai/index",
    "anthropic/index",
    "ollama/index",
    "ai-sdk/index",
    "claude-agent-sdk/index",
    "google-genai/index",
    "langchain/index",
    "mastra/index",
  ])("%s has no dependency and builds for browsers", async (entry) => {
    const { imports, bytes } = await bundle(`./${entry}.ts`, "browser");
    expect(imports).toEqual([]);
    expect(bytes).toBeLessThan(120_000);
  });

  it.each([
    ["the root entry", 'export * from "./index.ts"', 34_000],
    ["createGuard alone", 'export { createGuard } from "./index.ts"', 32_000],
    ["a reporter alone", 'export { createReporter } from "./report/index.ts"', 6_000],
  ])("%s does not grow: %s", async (_, contents, most) => {
    expect(await gzipped(contents)).toBeLessThan(most);
  });

  it("node/index only needs Node's own modules", async () => {
    const { imports } = await bundle("./node/index.ts", "node");
    expect(imports.every((path) => path.startsWith("node:"))).toBe(true);
  });
});
