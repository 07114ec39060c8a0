import type { ReplayResult } from "@plimsoll/protocol/api";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { ReplayJobs } from "./jobs.ts";
import type { ReplayControl, ReplayRequest } from "./run-replay.ts";

const RESULT = { turns: 3 } as ReplayResult;
const of = (projectId: number) => ({ projectId }) as ReplayRequest;

/** Jobs whose replays end when the test says so. */
function jobsWith() {
  const started: {
    control: ReplayControl;
    end: (result: ReplayResult) => void;
    fail: (error: unknown) => void;
  }[] = [];
  let now = 0;
  const jobs = new ReplayJobs({
    log: pino({ level: "silent" }),
    now: () => now,
    run: (_, control) =>
      new Promise((end, fail) => {
        control.signal.addEventListener("abort", () => fail(control.signal.reason));
        started.push({ control, end, fail });
      }),
  });
  const wait = (ms: number) => {
    now += ms;
  };
  return { jobs, started, wait };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return error instanceof PlimsollError ? error.code : error;
  }
  return undefined;
};

describe("replays", () => {
  it("report progress, then the result", async () => {
    const { jobs, started } = jobsWith();
    const id = jobs.start(of(1));
    expect(jobs.view(1, id)).toEqual({
      id,
      state: "running",
      done: 0,
      total: null,
      error: null,
      result: null,
    });
    started[0]!.control.progress(5, 9);
    expect(jobs.view(1, id)).toMatchObject({ state: "running", done: 5, total: 9 });
    started[0]!.end(RESULT);
    await settled();
    expect(jobs.view(1, id)).toMatchObject({ state: "done", done: 9, total: 9, result: RESULT });
  });

  it("run one at a time in a project, and two in all", async () => {
    const { jobs, started } = jobsWith();
    jobs.start(of(1));
    expect(codeOf(() => jobs.start(of(1)))).toBe("conflict");
    jobs.start(of(2));
    expect(codeOf(() => jobs.start(of(3)))).toBe("overloaded");
    started[0]!.end(RESULT);
    await settled();
    expect(codeOf(() => jobs.start(of(1)))).toBeUndefined();
  });

  it("are cancelled once, and a finished one stays as it is", async () => {
    const { jobs, started } = jobsWith();
    const id = jobs.start(of(1));
    await Promise.all([jobs.cancel(1, id), jobs.cancel(1, id)]);
    expect(jobs.view(1, id)).toMatchObject({ state: "cancelled", result: null, error: null });
    const next = jobs.start(of(1));
    started[1]!.end(RESULT);
    await settled();
    await jobs.cancel(1, next);
    expect(jobs.view(1, next)).toMatchObject({ state: "done", result: RESULT });
  });

  it("are cancelled even if the result came at the same moment", async () => {
    const { jobs, started } = jobsWith();
    const id = jobs.start(of(1));
    started[0]!.end(RESULT);
    await jobs.cancel(1, id);
    expect(jobs.view(1, id)).toMatchObject({ state: "cancelled", result: null });
  });

  it("belong to their project", async () => {
    const { jobs } = jobsWith();
    const id = jobs.start(of(1));
    expect(codeOf(() => jobs.view(2, id))).toBe("not_found");
    await expect(jobs.cancel(2, id)).rejects.toMatchObject({ code: "not_found" });
    await expect(jobs.session(2, id, "s")).rejects.toMatchObject({ code: "not_found" });
    expect(jobs.view(1, id).state).toBe("running");
  });

  it("say nothing of the database when they fail", async () => {
    const { jobs, started } = jobsWith();
    const id = jobs.start(of(1));
    started[0]!.fail(new Error('relation "secret" does not exist'));
    await settled();
    const { state, error } = jobs.view(1, id);
    expect({ state, error }).toEqual({ state: "failed", error: "The server could not finish the replay." });
  });

  it("are forgotten ten minutes after their end, and no sooner", async () => {
    const { jobs, started, wait } = jobsWith();
    const id = jobs.start(of(1));
    wait(3_600_000);
    expect(jobs.view(1, id).state).toBe("running");
    started[0]!.end(RESULT);
    await settled();
    wait(600_000);
    expect(jobs.view(1, id).state).toBe("done");
    wait(1);
    expect(codeOf(() => jobs.view(1, id))).toBe("not_found");
  });

  it("keep a bounded number of results", async () => {
    const { jobs, started } = jobsWith();
    const ids: string[] = [];
    for (let run = 0; run < 60; run++) {
      ids.push(jobs.start(of(1)));
      started[run]!.end(RESULT);
      await settled();
    }
    const kept = ids.filter((id) => codeOf(() => jobs.view(1, id)) === undefined);
    expect(kept).toEqual(ids.slice(-50));
  });

  it("end when the server stops", async () => {
    const { jobs, started } = jobsWith();
    const ids = [jobs.start(of(1)), jobs.start(of(2))];
    await jobs.stop();
    expect(started.every(({ control }) => control.signal.aborted)).toBe(true);
    expect(ids.map((id, index) => jobs.view(index + 1, id).state)).toEqual(["cancelled", "cancelled"]);
  });
});
