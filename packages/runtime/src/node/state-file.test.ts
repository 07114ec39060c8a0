import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryRunStore, orchestrate, type RunStore } from "../orchestrate/index.ts";
import { editLines } from "../orchestrate/state.ts";
import { fileRunStore } from "./run-stores.ts";

let folder = "";
let path = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "runtime-state-"));
  path = join(folder, "state.json");
});
afterEach(() => rm(folder, { recursive: true }));

const text = () => readFile(path, "utf8");

/** A run of 200 phases in the file. */
async function largeRun() {
  const memory = memoryRunStore();
  const { state } = await orchestrate({
    run: "r",
    harness: "h",
    phases: Array.from({ length: 200 }, (_, at) => ({ id: `${at}`, name: `Phase ${at}` })),
    store: memory,
    runPhase: async () => ({ status: "completed", score: 9, summary: "line\n".repeat(300) }),
  });
  await fileRunStore(path).apply([{ path: [], value: { ...state, status: "running" } }]);
}

/** Counts the lines of `after` that are not in `before`, and the other way round; the larger counts. */
function changed(before: string, after: string): number {
  const less = (one: string, other: string) => {
    const left = other.split("\n");
    return one.split("\n").filter((line) => {
      const at = left.indexOf(line);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    }).length;
  };
  return Math.max(less(after, before), less(before, after));
}

describe("the state file", () => {
  it("of any size is changed in fewer than 20 lines an edit [A12]", async () => {
    await largeRun();
    expect((await text()).split("\n").length).toBeGreaterThan(2_500);
    const inner = fileRunStore(path);
    const counts: number[] = [];
    const counting: RunStore = {
      read: () => inner.read(),
      // One edit at a time, so that each is counted alone.
      async apply(edits) {
        for (const edit of edits) {
          const before = await text();
          await inner.apply([edit]);
          counts.push(changed(before, await text()));
        }
      },
    };
    const issues = Array.from({ length: 60 }, (_, at) => `issue ${at}`);
    const { state } = await orchestrate({
      run: "r",
      harness: "h",
      phases: [{ id: "new", name: "Fixes" }],
      store: counting,
      runPhase: async ({ id, findings }) =>
        id === "new"
          ? {
              status: "split_request",
              subPhases: Array.from({ length: 5 }, (_, at) => ({ name: `part ${at}`, scope: "s", issues })),
              groupings: {},
              rationale: "too large",
            }
          : { status: findings === undefined ? "failed" : "completed", summary: "line\n".repeat(300) },
    });
    expect(state.phases.new!.status).toBe("completed");
    expect(counts.length).toBeGreaterThan(50);
    expect(Math.max(...counts)).toBeLessThan(20);
  });

  it.each([
    ["the whole run", []],
    ["phases", ["phases"]],
  ])("refuses to write %s again, and stays as it is [A12]", async (what, at) => {
    await largeRun();
    const before = await text();
    const phases = Object.fromEntries(Array.from({ length: 30 }, (_, key) => [key, "new"]));
    const edits = [
      { path: ["status"], value: "failed" },
      { path: at, value: at.length === 0 ? { phases } : phases },
    ];
    await expect(fileRunStore(path).apply(edits)).rejects.toMatchObject({
      code: "edit_too_large",
      message: expect.stringMatching(
        `^The edit of ${what} changes \\d+ lines of the state file, and the limit is 19.`,
      ),
    });
    expect(await text()).toBe(before);
  });
});

it("the lines of an edit are those that it writes or removes", () => {
  const line = fc.constantFrom("a", "b", "c");
  const lines = fc.array(line, { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, lines, lines, (head, old, next, tail) => {
      const of = (middle: string[]) => ["{", ...head, ...middle, ...tail, "}"].join("\n");
      const counted = editLines(of(old), of(next));
      expect(counted).toBeLessThanOrEqual(Math.max(old.length, next.length));
      expect(counted).toBeGreaterThanOrEqual(changed(of(old), of(next)));
    }),
  );
  expect(editLines("a\nb", "a\nb")).toBe(0);
  expect(editLines("a\nb\nc", "a\nc")).toBe(1);
  expect(editLines("a\na", "a\na\na")).toBe(1);
});
