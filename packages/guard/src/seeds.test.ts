import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const src = join(root, "packages/guard/src");
const page = await readFile(join(root, "docs/seeds.md"), "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| requirement |"))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));

async function textOf(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map((path) => readFile(path, "utf8")))).join("\n");
}

const files = (await readdir(src, { recursive: true })).filter((name) => name.endsWith(".ts"));
const isTest = (name: string) => name.endsWith(".test.ts");
const examples = join(root, "examples/examples.test.ts");

it("docs/seeds.md only names existing tests and files", async () => {
  const tests = await textOf([...files.filter(isTest).map((name) => join(src, name)), examples]);
  // Only quoted strings count as test names, not comments or code.
  const names = [...tests.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map(([, name]) => name!);
  expect(rows.length).toBeGreaterThan(60);
  for (const row of rows) {
    expect(row).toHaveLength(5);
    for (const [, piece] of row[3]!.matchAll(/"([^"]+)"/g)) {
      expect(
        names.some((name) => name.includes(piece!)),
        piece,
      ).toBe(true);
    }
  }
  for (const [, path] of page.matchAll(/`([\w./-]+\.ts)`/g)) {
    expect(existsSync(join(src, path!)) || existsSync(join(root, path!)), path).toBe(true);
  }
});

it("docs/seeds.md only names existing parts of the guard", async () => {
  const sources = await textOf(files.filter((name) => !isTest(name)).map((name) => join(src, name)));
  const known = new Set(sources.match(/[A-Za-z_]\w*/g));
  let named = 0;
  for (const row of rows) {
    for (const [, code] of row[2]!.matchAll(/`([^`]+)`/g)) {
      if (code!.includes("/")) {
        expect(existsSync(join(src, code!)) || existsSync(join(root, code!)), code).toBe(true);
        continue;
      }
      for (const word of code!.match(/[A-Za-z_]\w*/g) ?? []) {
        expect([...known], code).toContain(word);
        named++;
      }
    }
  }
  expect(named).toBeGreaterThan(60);
});
