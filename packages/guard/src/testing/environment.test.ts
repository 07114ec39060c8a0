import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it, vi } from "vitest";
import { cleanEnvironment } from "./environment.ts";

it("hides the developer's environment from SDKs in this process", () => {
  for (const [name, value] of [
    ["OPENAI_API_KEY", "sk-real"],
    ["OPENAI_BASE_URL", "https://api.openai.com/v1"],
    ["OPENAI_ORG_ID", "org"],
    ["ANTHROPIC_AUTH_TOKEN", "real"],
    ["HTTPS_PROXY", "http://proxy"],
    ["CLAUDE_CONFIG_DIR", "/home/me/.claude"],
  ] as const) {
    vi.stubEnv(name, value);
  }
  const before = { ...process.env };
  const { home, restore } = cleanEnvironment();
  try {
    const inherited = Object.entries(process.env).filter(([name, value]) => before[name] === value);
    expect(
      inherited
        .map(([name]) => name)
        .filter((name) => !/^(PATH|NODE_ENV|TEST|DEV|PROD|MODE|BASE_URL|SSR|VITEST)/.test(name)),
    ).toEqual([]);
    expect([homedir(), tmpdir()]).toEqual([home, home]);
    expect(new OpenAI()).toMatchObject({
      apiKey: "dummy",
      baseURL: "http://127.0.0.1:9",
      organization: null,
    });
    expect(new Anthropic()).toMatchObject({
      apiKey: "dummy",
      baseURL: "http://127.0.0.1:9",
      authToken: null,
    });
  } finally {
    restore();
  }
  expect({ ...process.env }).toEqual(before);
  expect(existsSync(home)).toBe(false);
  vi.unstubAllEnvs();
});

it("is the first import of every test that runs an SDK", async () => {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  const guard = join(root, "packages/guard/src");
  const names = (await readdir(guard, { recursive: true })).map((name) => join(guard, name));
  const files = [...names, join(root, "examples/examples.test.ts")].filter((name) =>
    name.endsWith(".test.ts"),
  );
  const sdk = /from "(openai|ollama|ai|@ai-sdk\/[^"]+|@anthropic-ai\/[^"]+)"|from "\.\/\w+\/main\.ts"/;
  let found = 0;
  for (const file of files) {
    const text = await readFile(file, "utf8");
    if (!sdk.test(text) || file === fileURLToPath(import.meta.url)) continue;
    found += 1;
    expect(text.split("\n")[0], file).toMatch(/^import "[./\w-]*\/testing\/clean-environment\.ts";$/);
  }
  expect(found).toBeGreaterThanOrEqual(6);
});
