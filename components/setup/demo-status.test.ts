import { DEMO_EXAMPLES, DEMO_FAILURES, type DemoView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { demoAdvice, demoStatusText, saidText } from "./demo-status.ts";

function run(state: DemoView["state"], finished: number): DemoView {
  const examples = DEMO_EXAMPLES.map((name, index) => ({
    name,
    state: index < finished ? ("finished" as const) : ("running" as const),
    said: null,
    events: null,
    sessions: [],
  }));
  return { state, started_at: null, ended_at: null, failure: null, examples };
}

describe("the status of the demo fleet", () => {
  it("counts finished examples", () => {
    expect(demoStatusText(run("running", 1))).toBe("Running: 1 of 5 examples finished.");
    expect(demoStatusText(run("failed", 3))).toBe("Failed: 3 of 5 examples finished.");
    expect(demoStatusText(run("finished", 5))).toBe("All 5 examples finished. Their sessions are recorded.");
  });

  it("has advice for every failure", () => {
    for (const reason of DEMO_FAILURES) expect(demoAdvice(reason), reason).toMatch(/again/);
  });
});

describe("what an example said last", () => {
  it("is shown unless it is a Markdown table", () => {
    expect(saidText("masked 2 observations")).toBe("masked 2 observations");
    expect(saidText("| # | Phase | | --- | --- |")).toBeNull();
    expect(saidText(null)).toBeNull();
  });
});
