import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

it("docs/seeds.md names tests and files that exist", async () => {
  const page = await readFile(join(root, "docs/seeds.md"), "utf8");
  const src = join(root, "packages/guard/src");
  const files = (await readdir(src, { recursive: true })).filter((name) => name.endsWith(".test.ts"));
  const paths = [...files.map((name) => join(src, name)), join(root, "examples/examples.test.ts")];
  const tests = (await Promise.all(paths.map((path) => readFile(path, "utf8")))).join("\n");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.includes("proved by"));
  expect(rows.length).toBeGreaterThan(60);
  for (const row of rows) {
    const proof = row.split("|").at(-2)!;
    for (const [, name] of proof.matchAll(/"([^"]+)"/g)) expect(tests, name).toContain(name!);
  }
  for (const [, path] of page.matchAll(/`([\w./-]+\.test\.ts)`/g)) {
    expect(existsSync(join(src, path!)) || existsSync(join(root, path!)), path).toBe(true);
  }
});
