import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CONNECTABLE_HARNESSES } from "@plimsoll/harnesses/connect";
import { expect, it } from "vitest";
import { FORMATS } from "./recordings.ts";
import { HARNESSES } from "./registry.ts";
import { SAMPLES } from "./testing/recordings.ts";

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

it("knows every harness that connects", () => {
  expect(Object.keys(HARNESSES)).toEqual(
    expect.arrayContaining(CONNECTABLE_HARNESSES.map(({ family }) => family)),
  );
});

it("docs/connect.md lists the harnesses that connect", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/connect.md"), "utf8");
  const rows = page.split("| harness | `connect` writes |")[1]!.split("\n\n")[0]!.split("\n").slice(2);
  const names = rows.map((row) => /^\| \[(.+?)\]/.exec(row)?.[1]);
  expect(names).toEqual(CONNECTABLE_HARNESSES.map(({ name }) => name));
});
