import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** Returns the snippets of a page with their headings and expected output. */
async function snippetsOf(page: string) {
  const text = await readFile(join(root, page), "utf8");
  return [...text.matchAll(/```ts\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g)].map((match, at) => ({
    name: `${page} ${at + 1} ${text
      .slice(0, match.index)
      .match(/^#+ .+$/gm)
      ?.at(-1)}`,
    file: `${page.replace(/\W+/g, "-")}-${at + 1}`,
    code: match[1]!,
    output: match[2],
  }));
}

const ADAPTERS = [
  ...["openai", "anthropic", "ai-sdk", "ollama", "claude-agent-sdk"],
  ...["langchain", "mastra", "google-genai"],
];

const guide = await snippetsOf("docs/guard.md");
const snippets = [...guide, ...(await snippetsOf("docs/runtime.md")), ...(await snippetsOf("README.md"))];
/** Includes Bun if it is installed, because the guard supports it. */
const runtimes = [{ runtime: "Node", program: process.execPath }];
if (await run("bun", ["--version"]).catch(() => undefined)) runtimes.push({ runtime: "Bun", program: "bun" });
const runs = runtimes.flatMap((runtime) => snippets.map((snippet) => ({ ...runtime, ...snippet })));

let model: ScriptedModel;
// Must be inside the project, so that imports resolve.
const folder = join(root, "packages/guard", `.snippets-${process.pid}`);
let home = "";

beforeAll(async () => {
  model = await startScriptedModel(() => ({ text: "Hello." }), 4_096);
  home = await mkdtemp(join(tmpdir(), "guard-docs-"));
  await mkdir(folder, { recursive: true });
  for (const { file, code } of snippets) await writeFile(join(folder, `${file}.ts`), code);
});
afterAll(async () => {
  await model.close();
  await rm(folder, { recursive: true, force: true });
  await rm(home, { recursive: true, force: true });
});

describe("snippets in the guide and the README", () => {
  it("cover every adapter", () => {
    expect(guide.length).toBeGreaterThan(10);
    expect(snippets.length).toBeGreaterThan(guide.length);
    for (const adapter of ADAPTERS) {
      expect(
        guide.some(({ code }) => code.includes(`@plimsoll/guard/${adapter}"`)),
        adapter,
      ).toBe(true);
    }
  });

  it("compile in strict mode", async () => {
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: { incremental: false, moduleDetection: "force", paths: await absolutePaths() },
      include: [join(folder, "*.ts")],
      exclude: [],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
    const bin = join(dirname(manifest), "bin/tsc");
    const { stdout } = await run(process.execPath, [bin, "-p", folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe("");
  });

  it.each(runs)("run in $runtime: $name", async ({ runtime, program, file, output }) => {
    const outfile = join(folder, `${file}.mjs`);
    const bundled = await build({
      entryPoints: [join(folder, `${file}.ts`)],
      tsconfig: join(root, "tsconfig.json"),
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      external: [
        ...["openai", "@anthropic-ai/*", "ai", "@ai-sdk/*", "ollama"],
        ...["@google/*", "langchain", "@langchain/*", "@mastra/*"],
      ],
    });
    expect(bundled.errors).toEqual([]);
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      OPENAI_BASE_URL: `${model.url}/v1`,
      OPENAI_API_KEY: "dummy",
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "dummy",
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: "dummy",
      OLLAMA_HOST: model.url,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      PLIMSOLL_URL: "http://127.0.0.1:9",
      PLIMSOLL_KEY: "dummy",
    } as unknown as NodeJS.ProcessEnv;
    const before = model.requests.length;
    const { stdout } = await run(program, [outfile], { env, cwd: home });
    if (output !== undefined && runtime === "Node") expect(stdout).toBe(output);
    else if (output !== undefined) expect(plain(stdout)).toBe(plain(output));
    const code = await readFile(join(folder, `${file}.ts`), "utf8");
    const adapter = ADAPTERS.some((one) => code.includes(`guard/${one}"`));
    expect(model.requests.length > before).toBe(adapter);
  });
});

/** Normalises printed objects, because Bun uses other quotes and commas. */
function plain(printed: string): string {
  return printed
    .replaceAll('"', "'")
    .replace(/\s+/g, " ")
    .replace(/,? ([}\]])/g, " $1");
}

async function absolutePaths(): Promise<Record<string, string[]>> {
  const { compilerOptions } = JSON.parse(await readFile(join(root, "tsconfig.json"), "utf8"));
  const paths = compilerOptions.paths as Record<string, string[]>;
  return Object.fromEntries(
    Object.entries(paths).map(([name, to]) => [name, to.map((one) => join(root, one))]),
  );
}
