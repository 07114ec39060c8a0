import type { CallResult } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallLog } from "./call-outcomes.ts";

interface Call {
  name: string;
  input: unknown;
  result: CallResult | undefined;
}
const call = (name: string, input: unknown, result: CallResult | undefined = "ok"): Call => ({
  name,
  input,
  result,
});
const bash = (command: string, result?: CallResult) => call("Bash", { command }, result);
const edit = (path: string) => call("Edit", { file_path: path, old_string: `${Math.random()}` });

/** A log of turns a second apart, each with its calls. */
function logOf(turns: readonly Call[][]) {
  const log = new CallLog();
  for (const [turn, calls] of turns.entries())
    for (const [index, { name, input, result }] of calls.entries()) {
      const id = `${turn}/${index}`;
      log.add({ id, at: 1_000 * turn + index, turn: String(turn), name, input });
      if (result !== undefined) log.addResult(id, result);
    }
  return log;
}
const placesOf = (turns: readonly unknown[]) =>
  turns.map((_, turn) => ({ key: String(turn), at: 1_000 * turn }));
/** The counts of turns that are not zero, by turn. */
function counts(...turns: Call[][]) {
  const outcomes = logOf(turns).outcomes(placesOf(turns));
  return turns.map((_, turn) =>
    Object.fromEntries(Object.entries(outcomes.get(String(turn)) ?? {}).filter(([, count]) => count !== 0)),
  );
}

describe("what came of tool calls", () => {
  it("is counted by turn", () => {
    expect(
      counts([bash("ls"), bash("cat x", "failed"), call("Read", { file_path: "x" }, "rejected")]),
    ).toEqual([{ calls: 3, failed: 1, rejected: 1 }]);
  });

  it("is counted by tool and day, of the turns that are sent", () => {
    const day = 86_400_000;
    const log = new CallLog();
    const add = (id: string, at: number, turn: string | undefined, name: string) =>
      log.add({ id, at, turn, name, input: {} });
    add("a", day - 1, "first", "Read");
    add("b", day, "first", "Read");
    add("c", day, "copied", "Read");
    add("d", day + 1, undefined, "");
    add("d", day + 1, undefined, "");
    add("later", day + 9, undefined, "Bash");
    log.addResult("b", "failed");
    const turns = [
      { key: "copied", at: 0 },
      { key: "first", at: day },
      { key: "last", at: day + 2 },
    ];
    expect(log.called(turns, (turn) => turn !== "copied")).toEqual([
      { tool: "Read", day: "1970-01-02", calls: 1, failed: 1 },
      { tool: "unnamed", day: "1970-01-02", calls: 1, failed: 0 },
      { tool: "Read", day: "1970-01-01", calls: 1, failed: 0 },
    ]);
    expect(
      log.called(
        turns,
        () => true,
        (call) => call === "c",
      ),
    ).toEqual([{ tool: "Read", day: "1970-01-02", calls: 1, failed: 0 }]);
  });

  it("is counted of inputs with numbers beyond those of JSON", () => {
    const input: unknown = JSON.parse('{"timeout":1e400,"path":"x"}');
    expect(counts([call("Read", input)], [call("Read", input)])).toEqual([
      { calls: 1 },
      { calls: 1, repeated: 1 },
    ]);
  });

  it("is nothing for a turn without calls", () => {
    expect(
      logOf([[], [bash("ls")]])
        .outcomes(placesOf([0, 1]))
        .has("0"),
    ).toBe(false);
  });

  it("does not say that none failed where no result is recorded", () => {
    const turns = [[{ name: "Bash", input: "ls", result: undefined }]];
    expect(logOf(turns).outcomes(placesOf(turns)).get("0")).toEqual({ calls: 1, repeated: 0, reedited: 0 });
  });

  it("knows a call that was made before, whatever the order of its fields, and takes another tool for another call", () => {
    expect(
      counts(
        [call("Read", { path: "a", limit: 2 })],
        [call("Read", { limit: 2, path: "a" }), call("Grep", { path: "a", limit: 2 })],
        [call("Read", { path: "a", limit: 3 })],
      ),
    ).toEqual([{ calls: 1 }, { calls: 2, repeated: 1 }, { calls: 1 }]);
  });

  it("belongs to the next turn that is counted if its turn is not known", () => {
    const log = new CallLog();
    for (const [id, at] of [
      ["a", 5],
      ["b", 2_000],
      ["late", 9_000],
    ] as const)
      log.add({ id, at, turn: undefined, name: "shell", input: id });
    const turns = [
      { key: "second", at: 2_000 },
      { key: "first", at: 1_000 },
    ];
    expect([...log.outcomes(turns)].map(([turn, { calls }]) => [turn, calls])).toEqual([
      ["first", 1],
      ["second", 1],
    ]);
  });

  it.each<[string, Call[], number]>([
    ["after a command", [edit("a"), bash("npm run build"), edit("a")], 1],
    ["not at once", [edit("a"), edit("a")], 0],
    ["not of another file", [edit("a"), bash("make"), edit("b")], 0],
    ["each time", [edit("a"), bash("x"), edit("a"), bash("y"), edit("a"), edit("a")], 2],
    [
      "of a patch, too",
      [
        call("apply_patch", "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-x\n+y\n*** End Patch"),
        call("shell", { command: ["bash", "-lc", "go vet ./..."] }),
        call("apply_patch", { input: "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-y\n+z" }),
      ],
      1,
    ],
  ])("counts a file that is edited again %s", (_, calls, reedited) => {
    const found = counts(...calls.map((one) => [one])).map((one) => one.reedited ?? 0);
    expect(found.reduce((sum, one) => sum + one, 0)).toBe(reedited);
  });

  it.each([
    "npm test",
    "npm run test -- --watch=false",
    "cd app && npx vitest run a.test.ts",
    "python -m pytest -x tests/",
    "python tests/runtests.py utils",
    "go test ./...",
    "cargo test --all",
    "./gradlew :app:test",
    "CI=1 make check",
  ])("takes %s for a run of tests", (command) => {
    expect(counts([bash(command, "failed")])).toEqual([{ calls: 1, failed: 1, failed_tests: 1 }]);
    expect(counts([bash(command)])).toEqual([{ calls: 1 }]);
  });

  it.each(["cat tests/test_a.py", "git add latest", "npm run testimonials", "echo contest"])(
    "does not take %s for one",
    (command) => {
      expect(counts([bash(command, "failed")])).toEqual([{ calls: 1, failed: 1 }]);
    },
  );

  it.each([
    ["No, that's the wrong file", 1],
    ["that is not what I meant", 1],
    ["Please revert this", 1],
    ["you forgot the tests", 1],
    ["Don't touch the lock file", 1],
    ["still failing", 1],
    ["Nothing else, thank you", 0],
    ["Now add a test", 0],
    ["Notify the team", 0],
    ["Stopwatch component next", 0],
    ["I want that, too", 0],
  ])("takes %j for %i corrections of the turn before", (text, corrected) => {
    const log = logOf([[bash("ls")], [bash("pwd")]]);
    log.addPrompt(1_500, text);
    const outcomes = log.outcomes(placesOf([0, 1]));
    expect(["0", "1"].map((turn) => outcomes.get(turn)!.corrected ?? 0)).toEqual([0, corrected]);
  });

  const anyCall = fc.record({
    name: fc.constantFrom("Bash", "Edit", "Read"),
    input: fc.record({ command: fc.constantFrom("ls", "npm test"), file_path: fc.constantFrom("a", "b") }),
    result: fc.constantFrom<CallResult>("ok", "failed", "rejected"),
  });

  it("adds up to the same whether calls come in one turn or in several", () => {
    const sum = (turns: Call[][]) => {
      const total: Record<string, number> = {};
      for (const turn of counts(...turns))
        for (const [name, count] of Object.entries(turn)) total[name] = (total[name] ?? 0) + Number(count);
      return total;
    };
    fc.assert(
      fc.property(fc.array(anyCall, { minLength: 1, maxLength: 10 }), (calls) => {
        expect(sum(calls.map((one) => [one]))).toEqual(sum([calls]));
      }),
    );
  });

  it("is the same in any order of calls and results, however often they are read", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyCall, { maxLength: 3 }), { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        (turns, numbers) => {
          const straight = logOf(turns).outcomes(placesOf(turns));
          const steps = turns.flatMap((calls, turn) =>
            calls.flatMap(({ name, input, result }, index) => {
              const id = `${turn}/${index}`;
              return [
                (log: CallLog) => log.add({ id, at: 1_000 * turn + index, turn: String(turn), name, input }),
                (log: CallLog) => log.addResult(id, result!),
              ];
            }),
          );
          const drawn = [...steps, ...steps].map((step) => ({ step, order: numbers.next().value! }));
          const log = new CallLog();
          for (const { step } of drawn.sort((a, b) => a.order - b.order)) step(log);
          expect(Object.fromEntries(log.outcomes(placesOf(turns)))).toEqual(Object.fromEntries(straight));
        },
      ),
    );
  });
});
