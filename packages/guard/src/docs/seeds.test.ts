import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const sources = ["packages/guard/src", "packages/runtime/src", "examples"].map((folder) =>
  join(root, folder),
);
const page = await readFile(join(root, "docs/seeds.md"), "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| id |"))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));

async function textOf(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map((path) => readFile(path, "utf8")))).join("\n");
}

const files = (
  await Promise.all(
    sources.map(async (src) => (await readdir(src, { recursive: true })).map((name) => join(src, name))),
  )
)
  .flat()
  .filter((name) => name.endsWith(".ts"));
const exists = (path: string) => [root, ...sources].some((folder) => existsSync(join(folder, path)));
const isTest = (name: string) => name.endsWith(".test.ts");

/** The names of tests, with the ids of the rows that they prove. Only quoted strings count, not comments or code. */
function testNames(text: string): { name: string; ids: string[] }[] {
  return [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map(([, name]) => ({
    name: name!,
    ids: / \[([POAW]\d+(?: [POAW]\d+)*)\]$/.exec(name!)?.[1]?.split(" ") ?? [],
  }));
}

it("docs/seeds.md only names existing tests and files", async () => {
  const tests = await textOf(files.filter(isTest));
  const names = testNames(tests);
  expect(rows.length).toBeGreaterThan(60);
  for (const row of rows) {
    expect(row).toHaveLength(6);
    for (const [, piece] of row[4]!.matchAll(/"([^"]+)"/g)) {
      const named = names.filter(({ name }) => name.includes(piece!));
      expect(
        named.some(({ ids }) => ids.includes(row[1]!)),
        `${row[1]}: ${piece}`,
      ).toBe(true);
    }
  }
  for (const [, path] of page.matchAll(/`([\w./-]+\.ts)`/g)) {
    expect(exists(path!), path).toBe(true);
  }
});

it("each row of docs/seeds.md has a test with its id, and each id in a test has a row", async () => {
  const names = testNames(await textOf(files.filter(isTest)));
  const ids = rows.map(([, id]) => id!);
  expect(new Set(ids).size).toBe(ids.length);
  const tested = new Set(names.flatMap((test) => test.ids));
  expect(ids.filter((id) => !tested.has(id))).toEqual([]);
  expect([...tested].filter((id) => !ids.includes(id))).toEqual([]);
});

it("docs/seeds.md only names existing parts of the guard and the runtime", async () => {
  const code = await textOf(files.filter((name) => !isTest(name)));
  const known = new Set(code.match(/[A-Za-z_]\w*/g));
  let named = 0;
  for (const row of rows) {
    for (const [, part] of row[3]!.matchAll(/`([^`]+)`/g)) {
      if (part!.includes("/")) {
        expect(exists(part!), part).toBe(true);
        continue;
      }
      for (const word of part!.match(/[A-Za-z_]\w*/g) ?? []) {
        expect([...known], part).toContain(word);
        named++;
      }
    }
  }
  expect(named).toBeGreaterThan(60);
});
