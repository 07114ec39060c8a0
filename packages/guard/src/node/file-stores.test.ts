import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fileMaskStore } from "./file-stores.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "guard-files-"));
});
afterEach(() => rm(folder, { recursive: true }));

it("stores masked results under any id", () => {
  const store = fileMaskStore(join(folder, "masks"));
  for (const id of ["call_1", "../../etc/passwd", "..", "a/b", "é🎉"]) store.put(id, `text of ${id}`);
  for (const id of ["call_1", "../../etc/passwd", "..", "a/b", "é🎉"])
    expect(store.get(id)).toBe(`text of ${id}`);
  expect(store.get("none")).toBeUndefined();
});
