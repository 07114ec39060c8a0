import "../packages/guard/src/testing/clean-environment.ts";

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { constantTimeline, foldAgent, markFacts, turnFacts } from "@plimsoll/fold";
import { createReporter } from "@plimsoll/guard/report";
import { type PlimsollEvent, parseEvent } from "@plimsoll/protocol/events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { autopilot } from "./autopilot/main.ts";
import { ISSUES, makeApplication, runCheck } from "./autopilot/project.ts";
import type { ExampleContext } from "./example-support.ts";
import { ouroboros } from "./ouroboros/main.ts";
import { phantom } from "./phantom/main.ts";
import { phantomOpenAi } from "./phantom/openai.ts";
import { watcher } from "./watcher/main.ts";
import { workers } from "./workers/main.ts";

let folder = "";
let events: PlimsollEvent[] = [];
let said: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-example-"));
  events = [];
  said = [];
});
afterEach(() => rm(folder, { recursive: true }));

/** Creates an example context whose reporter validates each event like the server. */
function testContext(name: string): ExampleContext {
  // A run that was given up may still report.
  const own = { events, said };
  const log = (line: string) => {
    const parsed = parseEvent(JSON.parse(line));
    expect(parsed, line).toMatchObject({ ok: true });
    if (parsed.ok) own.events.push(parsed.event);
  };
  return {
    reporter: createReporter({ log }),
    harness: `${name}@test`,
    run: "r1",
    folder,
    say: (text) => own.said.push(text),
    paceMs: 0,
  };
}

const of = <T extends PlimsollEvent["type"]>(type: T) =>
  events.filter((event): event is Extract<PlimsollEvent, { type: T }> => event.type === type);

/** Asserts that a boundary explains every fall, so the dashboard shows none as unexplained. */
function expectExplained() {
  const agents = new Set(events.map((event) => `${event.session} ${event.agent}`));
  for (const agent of agents) {
    const own = events.filter((event) => `${event.session} ${event.agent}` === agent);
    const turns = own.flatMap((event) => (event.type === "turn" ? [turnFacts(event, event.id)] : []));
    const marks = own.flatMap((event) =>
      event.type === "turn" || event.type === "tool_result" || event.type === "quota"
        ? []
        : [markFacts(event)],
    );
    const { inferred } = foldAgent(turns, marks, {
      thresholds: constantTimeline({ warning: null, ceiling: null, soft: null, hard: null, reserve: null }),
      lookups: { configured: () => undefined, catalog: () => undefined },
    });
    expect([...inferred.values()], agent).toEqual([]);
  }
}

/** A prompt is predicted, so it may exceed its line by the error of the estimate. */
const ESTIMATE = 1.02;

/** Functions that a file of the example's project defines. */
async function functionsIn(path: string): Promise<number> {
  return (await readFile(join(folder, path), "utf8")).match(/export function/g)!.length;
}

describe("the example harnesses", () => {
  it("phantom keeps a thread under its ceiling and continues a loop across sub-ticks, on the Claude Agent SDK [P14 P15 P20]", async () => {
    const { chat, loop } = await phantom(testContext("phantom"));
    const turns = of("turn");
    for (const turn of turns) {
      const line = turn.session.startsWith("loop:") ? 0.15 : 0.2;
      if (turn.purpose === undefined)
        expect(turn.usage.input_tokens! + turn.usage.cache_read_tokens!).toBeLessThan(
          200_000 * line * ESTIMATE,
        );
    }
    expect(chat.restarts).toBeGreaterThan(0);
    expect(chat.peak).toBeGreaterThan(200_000 * 0.15);
    expect(of("restarted")).toHaveLength(chat.restarts);
    expect(of("threshold_crossed").some((event) => event.threshold === "warning")).toBe(true);
    const notices = said.filter((text) => text.includes("I'm compacting my context to stay sharp"));
    expect(notices).toHaveLength(chat.restarts);
    expect(chat.answers).toHaveLength(7);
    // The fresh session does not repeat the work that the handoff lists.
    expect(chat.turns).toBeLessThan(12 + 15 + 4);
    for (const [at, answer] of chat.answers.slice(0, 6).entries()) {
      expect(answer).toBe(
        `src/module-${at + 1}.ts defines ${await functionsIn(`src/module-${at + 1}.ts`)} functions.`,
      );
    }
    expect(loop).toMatchObject({ end: "done", iterations: 2 });
    expect(of("subtick")).toHaveLength(loop.boundaries);
    expect(loop.boundaries).toBeGreaterThan(0);
    expect(new Set((loop.data as { read: string[] }).read).size).toBe(36);
    expect((loop.data as { read: string[] }).read).toHaveLength(36);
    expectExplained();
  }, 300_000);

  it("phantom does the same over an OpenAI-compatible API, as the demo fleet runs it", async () => {
    const { chat, loop } = await phantomOpenAi(testContext("phantom"));
    expect(chat.compactions).toBeGreaterThan(0);
    expect(chat.peak).toBeLessThan(60_000 * 0.25);
    expect(said.filter((text) => text.includes("I'm compacting my context to stay sharp"))).toHaveLength(
      chat.compactions,
    );
    expect(loop).toMatchObject({ end: "done", iterations: 3 });
    expect(of("subtick")).toHaveLength(loop.boundaries);
    expect(loop.boundaries).toBeGreaterThan(0);
    expect(of("compacted")).toHaveLength(chat.compactions);
    expectExplained();
  });

  it("ouroboros masks, winds down, restarts and rewrites its own prompt [O8 O9]", async () => {
    const result = await ouroboros(testContext("ouroboros"));
    const notes = await readFile(join(folder, "workspace", "NOTES.md"), "utf8");
    expect(notes.trim().split("\n").length).toBeGreaterThan(20);
    expect(result.end).toBe("done");
    expect(result.sessions).toBeGreaterThan(1);
    expect(of("session")[0]).toMatchObject({ title: "Study the project and write NOTES.md" });
    expect(of("masked").length).toBeGreaterThan(1);
    expect(of("wind_down").length).toBeGreaterThan(0);
    expect(of("restarted")).toHaveLength(result.sessions - 1);
    expect(result.prompt).toContain("are studied. DONE=");
    const log = await readFile(join(folder, ".ouro-logs", "session.jsonl"), "utf8");
    expect(log.trim().split("\n").length).toBeGreaterThan(40);
    expectExplained();
  });

  it("autopilot splits a phase that is too large and reports the parts inline [A9]", async () => {
    const result = await autopilot(testContext("autopilot"));
    expect(result.status).toBe("completed");
    expect(of("session")[0]).toMatchObject({ title: "Phases 18 to 20" });
    expect(result.report).toContain("Phase 20 (split: 20a, 20b, 20c, 20d, 20e, 20f)");
    expect(of("split_requested")).toHaveLength(1);
    expect(of("split_resolved")).toMatchObject([{ status: "completed" }]);
    expect(new Set(of("turn").map((event) => event.agent))).toEqual(
      new Set(["18", "19", "20a", "20b", "20c", "20d", "20e", "20f"]),
    );
    expect(said.some((text) => text.includes("must not read 20-UAT.md"))).toBe(true);
    expect(said).toContain("Phase 20d is not completed (pads the day). Remediating it once...");
    const state = JSON.parse(await readFile(join(folder, ".autopilot", "state.json"), "utf8"));
    expect(state.phases["20c"]).toMatchObject({ status: "completed", parent: "20", score: 10 });
    expect(of("phase").filter(({ status }) => status === "remediating")).toMatchObject([{ phase: "20d" }]);
    // The agents of one file changed it one after the other, and each change is there.
    const drafts = await readFile(join(folder, "app", "drafts.mjs"), "utf8");
    expect(drafts.match(/padStart/g)).toHaveLength(2);
    expect(drafts).not.toContain("clear");
    const order = of("phase").map(({ phase, status }) => `${phase} ${status}`);
    expect(order.indexOf("20b running")).toBeGreaterThan(order.indexOf("20a completed"));
    expect(order.indexOf("20e running")).toBeGreaterThan(order.indexOf("20d completed"));
    for (const name of ["Search", "Export", ...ISSUES]) {
      expect(await runCheck(folder, name), name).toEqual({ score: 10, failed: [] });
    }
  });

  it("the application of autopilot has the defects that its checks find", async () => {
    await makeApplication(folder);
    for (const name of ["Search", "Export", ...ISSUES]) {
      const { score, failed } = await runCheck(folder, name);
      expect(score, name).toBeLessThan(10);
      expect(failed.length, name).toBeGreaterThan(0);
    }
  });

  it("the watcher shortens and summarises in the background while the agent works", async () => {
    const { answer, highest, line, prepared, waited, rules } = await watcher(testContext("watcher"));
    // The longest of the files that makeProject writes.
    expect(answer).toContain("src/module-18.ts has the most functions: 149");
    expect(highest).toBeLessThan(line);
    expect(prepared).toBeGreaterThan(5);
    expect(waited).toBe(0);
    expect(rules).toContain("Never change a file.");
    expect(of("masked").length).toBeGreaterThan(1);
    expect(of("compacted").length).toBeGreaterThan(0);
    expectExplained();
  });

  it("workers near their window, fall without an explanation and exceed a wrong window", async () => {
    await workers(testContext("workers"), 0);
    const levels = (title: string) =>
      of("turn")
        .filter(({ session }) => session === `${title}:r1`)
        .map(({ usage, context_window: size }) => {
          return (usage.input_tokens! + usage.cache_read_tokens!) / size!;
        });
    const [near, cut, wrong] = ["worker-1", "worker-2", "worker-3"].map(levels);
    expect(near!.at(-1)).toBeGreaterThan(0.75);
    expect(Math.max(...near!)).toBeLessThan(1);
    expect(Math.max(...cut!)).toBeLessThan(1);
    const falls = cut!.filter((level, at) => at > 0 && level < 0.8 * cut![at - 1]!);
    expect(falls.length).toBeGreaterThan(1);
    // The first within the first half, so that a viewer sees it.
    expect(cut!.findIndex((level, at) => at > 0 && level < 0.8 * cut![at - 1]!)).toBeLessThan(45);
    expect(wrong!.findIndex((level) => level > 1)).toBeLessThan(60);
    expect(Math.max(...wrong!)).toBeGreaterThan(1.2);
    expect(of("session").filter(({ status }) => status === "ended")).toHaveLength(3);
    // Nothing of them explains the falls of worker-2.
    expect(events.filter(({ type }) => type !== "turn" && type !== "session")).toEqual([]);
  });

  it("each have fewer than 200 lines", async () => {
    for (const name of ["phantom", "ouroboros", "autopilot", "watcher", "workers"]) {
      const text = await readFile(fileURLToPath(new URL(`./${name}/main.ts`, import.meta.url)), "utf8");
      expect(text.split("\n").length, name).toBeLessThan(200);
    }
  });
});
