import { DEMO_EXAMPLES, type DemoView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { type DemoMessage, type DemoStep, IDLE, newRun, nextDemo } from "./progress.ts";

const START = Date.UTC(2026, 10, 20, 10);
const sessionId = (harness: string, session: string) => `${harness}/${session}`;
const message = (said: DemoMessage): DemoStep => ({ type: "message", message: said, sessionId });
const exited: DemoStep = { type: "exited", code: 0, lastWords: "", at: START + 5_000 };

function runAfter(...steps: DemoStep[]): DemoView {
  return steps.reduce(nextDemo, newRun(START));
}
const started = DEMO_EXAMPLES.map((example) => message({ type: "running", example }));
const finished = DEMO_EXAMPLES.map((example) => message({ type: "finished", example, sent: 10, lost: 0 }));
const statesOf = (run: DemoView) => run.examples.map(({ state }) => state);

describe("a run of the demo fleet", () => {
  it("starts with every example waiting and ends when all have", () => {
    const run = runAfter();
    expect(run).toMatchObject({ state: "starting", started_at: "2026-11-20T10:00:00.000Z", ended_at: null });
    expect(new Set(statesOf(run))).toEqual(new Set(["waiting"]));
    expect(runAfter(started[0]!)).toMatchObject({
      state: "running",
      examples: [{ name: "phantom", state: "running" }, { state: "waiting" }, {}, {}, {}],
    });
    const end = runAfter(...started, ...finished, exited);
    expect(end).toMatchObject({ state: "finished", failure: null, ended_at: "2026-11-20T10:00:05.000Z" });
    expect(end.examples[3]).toMatchObject({ state: "finished", events: 10 });
  });

  it("keeps each session once, with the title it got later", () => {
    const session = { type: "session", example: "phantom", harness: "phantom@demo", session: "s" } as const;
    const { examples } = runAfter(
      message({ ...session, title: null }),
      message({ ...session, title: "A thread" }),
      message({ ...session, session: "t", title: null }),
      message({ ...session, title: null }),
    );
    expect(examples[0]!.sessions).toHaveLength(2);
    expect(examples[0]!.sessions).toContainEqual({ id: "phantom@demo/s", session: "s", title: "A thread" });
  });

  it("says which example failed and why, and lets the others finish", () => {
    const why = message({ type: "failed", example: "watcher", message: "no room" });
    const end = runAfter(...started, ...finished.filter((_, at) => at !== 3), why, exited);
    expect(statesOf(end)).toEqual(["finished", "finished", "finished", "failed", "finished"]);
    expect(end).toMatchObject({
      state: "failed",
      failure: { reason: "example_failed", message: "watcher: no room" },
    });
  });

  it("does not call events that never arrived a success", () => {
    const lost = message({ type: "finished", example: "phantom", sent: 0, lost: 69 });
    const end = runAfter(...started, lost, ...finished.slice(1), exited);
    expect(end).toMatchObject({
      state: "failed",
      failure: { reason: "events_lost", message: "phantom: 69 events did not arrive" },
    });
  });

  it("tells a process that never began from one that died at work", () => {
    const died: DemoStep = { ...exited, code: 1, lastWords: "Error: no bundle" } as DemoStep;
    expect(runAfter(died).failure).toEqual({ reason: "not_started", message: "Error: no bundle" });
    const early = runAfter(...started, finished[0]!, died);
    expect(early.failure).toEqual({ reason: "ended_early", message: "Error: no bundle" });
    expect(statesOf(early)).toEqual(["finished", "failed", "failed", "failed", "failed"]);
  });

  it("is stopped or out of time once, whatever its process says afterwards", () => {
    const stopped = runAfter(...started, { type: "stop_asked", at: START + 1_000 });
    expect(stopped).toMatchObject({ state: "stopped", failure: null });
    expect(new Set(statesOf(stopped))).toEqual(new Set(["stopped"]));
    expect([finished[0]!, exited].reduce(nextDemo, stopped)).toBe(stopped);
    const late = runAfter(...started, { type: "timed_out", at: START + 1_000 });
    expect(late).toMatchObject({ state: "failed", failure: { reason: "timed_out" } });
    expect(nextDemo(late, { type: "stop_asked", at: START + 2_000 })).toBe(late);
  });

  it("is not begun by a step", () => {
    expect(nextDemo(IDLE, started[0]!)).toBe(IDLE);
    expect(nextDemo(IDLE, { type: "stop_asked", at: START })).toBe(IDLE);
  });
});
