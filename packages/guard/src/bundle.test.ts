import { readFileSync } from "node:fs";
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

  const guide = readFileSync(here("../../../docs/guard.md"), "utf8");
  const guard = 'export { createGuard } from "./index.ts";';

  it.each([
    ["`createGuard`", guard],
    ["all of `@plimsoll/guard`", 'export * from "./index.ts"'],
    [
      "`createGuard` with `guardChat`, or another adapter",
      `${guard} export { chatShape, guardChat } from "./openai/index.ts"`,
      `${guard} export { anthropicShape, guardMessages } from "./anthropic/index.ts"`,
      `${guard} export { aiShape, guardMiddleware } from "./ai-sdk/index.ts"`,
      `${guard} export { geminiShape, guardGemini } from "./google-genai/index.ts"`,
    ],
    [
      "`createGuard` and `fit` with `optimistic`",
      `${guard} export { fit } from "./index.ts"; export { optimistic } from "./watcher/index.ts"`,
    ],
    ["`createReporter`", 'export { createReporter } from "./report/index.ts"'],
    ["`policySource`", 'export { policySource } from "./policy-source/index.ts"'],
    ["`ContextWatcher` without a guard", 'export { ContextWatcher, PromptIr } from "./watcher/index.ts"'],
    [
      "`readUsage` and `estimateTokens` without a guard",
      'export { estimateTokens, readUsage } from "./measure/index.ts"',
    ],
  ])("the guide says how large this is: %s", async (label, ...imports) => {
    const row = guide.split("\n").find((line) => line.startsWith(`| ${label} | `));
    const most = Number(/ (\d+) kB \|$/.exec(row ?? "")?.[1]) * 1_000;
    const sizes = await Promise.all(imports.map(gzipped));
    expect(Math.max(...sizes)).toBeLessThan(most);
    expect(Math.max(...sizes), "smaller than the guide says").toBeGreaterThan(most - 1_500);
  });

  it("node/index only needs Node's own modules", async () => {
    const { imports } = await bundle("./node/index.ts", "node");
    expect(imports.every((path) => path.startsWith("node:"))).toBe(true);
  });
});
