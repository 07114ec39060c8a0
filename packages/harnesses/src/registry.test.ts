import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CONNECTABLE_HARNESSES } from "./connect.ts";
import type { Harness } from "./harness.ts";
import { FORMATS } from "./recordings.ts";
import { HARNESSES, partsOf } from "./registry.ts";
import { SAMPLES } from "./testing/recordings.ts";

const DOCS = new Map(Object.entries<Harness>(HARNESSES).map(([family, { docs }]) => [family, docs]));

it("has every family that has a folder", () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => readdirSync(join(import.meta.dirname, name)).includes("index.ts"));
  expect(Object.keys(HARNESSES).sort()).toEqual(folders.sort());
});

it("says why a part is not there", () => {
  const reasons = Object.values(HARNESSES).flatMap((harness) =>
    Object.values(harness).flatMap((part) => (typeof part === "object" && "none" in part ? [part.none] : [])),
  );
  expect(reasons).not.toEqual([]);
  for (const reason of reasons) expect(reason).toMatch(/^[A-Z].{10,}\.$/);
});

it("has a sample of every format but those with real recordings or longer tests", () => {
  const sampled = new Set<string>(SAMPLES.map(({ format }) => format));
  expect(FORMATS.filter((format) => !sampled.has(format))).toEqual([
    "claude-code",
    "codex",
    "ouroboros",
    "agentd",
  ]);
});

it("lists the harnesses that connect in docs/connect.md", async () => {
  const path = join(import.meta.dirname, "../../../docs/connect.md");
  const page = readFileSync(path, "utf8");
  const line = "\n|---|---|---|---|---|\n";
  const start = page.indexOf(line) + line.length;
  const rest = page.slice(start);
  const rows = CONNECTABLE_HARNESSES.map(({ family, name }) => {
    const [anchor, ...cells] = DOCS.get(family)!.split(" | ");
    return `| [${name}](#${anchor}) | ${cells.join(" | ")} |\n`;
  });
  const wanted = `${page.slice(0, start)}${rows.join("")}${rest.slice(rest.indexOf("\n\n") + 1)}`;
  // With `vitest -u`, this writes the rows.
  await expect(wanted).toMatchFileSnapshot(path);
});

it("has seen those versions of them that CI runs", () => {
  const ci = readFileSync(join(import.meta.dirname, "../../../.ci/run"), "utf8");
  const seen = CONNECTABLE_HARNESSES.flatMap(({ family }) => DOCS.get(family)?.match(/[\d.]+$/) ?? []);
  expect(seen).toHaveLength(6);
  for (const version of seen) expect(ci).toMatch(new RegExp(`"\\S+@${version}(?:-linux-x64)? `));
});

it("lists what recordings show of a window in docs/import.md", async () => {
  const path = join(import.meta.dirname, "../../../docs/import.md");
  const page = readFileSync(path, "utf8");
  const head = "| recording | texts | thinking | what a compaction left |\n|---|---|---|---|\n";
  const start = page.indexOf(head) + head.length;
  const rest = page.slice(start);
  const rows = partsOf("recordings").map(([family]) => {
    const { name, contents } = HARNESSES[family] as Harness;
    return typeof contents === "string"
      ? `| ${name} | ${contents} |\n`
      : `| ${name} | none. ${contents.none} | | |\n`;
  });
  const wanted = `${page.slice(0, start)}${rows.join("")}${rest.slice(rest.indexOf("\n\n") + 1)}`;
  // With `vitest -u`, this writes the rows.
  await expect(wanted).toMatchFileSnapshot(path);
});

it("lists the commands that add the MCP server in docs/mcp.md", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/mcp.md"), "utf8");
  const commands = CONNECTABLE_HARNESSES.flatMap(({ mcpCommand = [] }) => mcpCommand);
  expect(commands).toHaveLength(4);
  for (const command of commands) expect(page).toContain(`\`${command}\``);
});
