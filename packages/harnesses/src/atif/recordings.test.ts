import { expect, it } from "vitest";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { atifRecordings } from "./recordings.ts";

const AT = "2026-11-20T10:00:00Z";
const step = (more: object = {}) => ({
  step_id: 1,
  timestamp: AT,
  source: "agent",
  message: "",
  metrics: { prompt_tokens: 1_000, completion_tokens: 10 },
  ...more,
});
const file = (session: string, steps: object[], more: object = {}) => ({
  schema_version: "ATIF-v1.8",
  session_id: session,
  agent: { name: "a", version: "1" },
  steps,
  ...more,
});

function read(files: Record<string, unknown>) {
  const named = Object.entries(files).map(([path, value]) => ({ path, lines: json(value) }));
  const reading = readAll(atifRecordings.reader({ harness: "atif@host", titles: true }), named);
  const found = [...foldEvents(reading.events)].map(([agent, fold]) => [agent, levels(fold)]);
  return { ...reading, levels: Object.fromEntries(found) };
}

const subAgent = (path: string) =>
  step({
    step_id: 2,
    metrics: undefined,
    observation: { results: [{ subagent_trajectory_ref: [{ trajectory_path: path }] }] },
  });

it("takes the whole prompt once, with its cached part inside", () => {
  const metrics = { prompt_tokens: 50_000, cached_tokens: 48_000, completion_tokens: 900, cost_usd: 0.5 };
  const { events } = read({ "t.json": file("s", [step({ metrics, model_name: "gpt-5.6" })]) });
  expect(events.find(({ type }) => type === "turn")).toMatchObject({
    model: "gpt-5.6",
    cost_usd: 0.5,
    usage: { input_tokens: 50_000, cache_read_tokens: 48_000, output_tokens: 900, basis: "inclusive" },
  });
  expect(read({ "t.json": file("s", [step({ metrics })]) }).levels).toEqual({ "s main": [50_000] });
});

it.each([
  ["copied", { is_copied_context: true }],
  ["aggregate", { llm_call_count: 2 }],
  ["no_usage", { llm_call_count: 0, metrics: undefined }],
  ["no_usage", { metrics: { prompt_tokens: "many" } }],
  ["no_time", { timestamp: undefined }],
  ["zero_usage", { metrics: { prompt_tokens: 0, completion_tokens: 0 } }],
])("does not take a step as a turn: %s", (reason, more) => {
  const { levels, skipped } = read({ "t.json": file("s", [step(), step({ step_id: 2, ...more })]) });
  expect(levels).toEqual({ "s main": [1_000] });
  expect(skipped).toEqual({ [reason]: 1 });
});

it("counts no file without the id of a run or a trajectory, and takes either", () => {
  expect(read({ "t.json": file("", [step()]) })).toMatchObject({ events: [], skipped: { no_session: 1 } });
  expect(read({ "t.json": file("", [step()], { trajectory_id: "t-1" }) }).levels).toEqual({
    "t-1 main": [1_000],
  });
});

it("moves a file to the one that names it, also if it was read first", () => {
  const child = file("child", [step()], { trajectory_id: "worker" });
  const files = {
    "a/sub/worker.json": child,
    "a/t.json": file("run", [step(), subAgent("sub/worker.json")]),
  };
  const { events, levels } = read(files);
  expect(levels).toEqual({ "run main": [1_000], "run agent-worker": [1_000] });
  expect(events.find(({ agent }) => agent !== undefined)).toMatchObject({
    parent_agent: "main",
    own_session: "child",
  });
  // Another folder may have a file of the same name.
  const elsewhere = { "b/sub/worker.json": child, "a/t.json": files["a/t.json"] };
  expect(read(elsewhere).levels).toEqual({ "run main": [1_000], "child main": [1_000] });
});

it("reads files that name each other in a circle, or themselves", () => {
  const circle = {
    "a.json": file("a", [step()], { continued_trajectory_ref: "b.json" }),
    "b.json": file("b", [step({ step_id: 2, timestamp: "2026-11-20T10:01:00Z" })], {
      continued_trajectory_ref: "a.json",
    }),
    "c.json": file("c", [step(), subAgent("c.json")]),
  };
  expect(Object.values(read(circle).levels).flat()).toEqual([1_000, 1_000, 1_000]);
});

it("bounds how deep sub-agents are read", () => {
  let nested = file("s", [step()], { trajectory_id: "leaf" });
  for (let level = 0; level < 500; level += 1) {
    nested = file("s", [step()], { trajectory_id: "n", subagent_trajectories: [nested] });
  }
  const { levels, skipped } = read({ "t.json": nested });
  expect(Object.keys(levels)).toHaveLength(33);
  expect(skipped).toEqual({ unreadable: 1 });
});

it("takes a compaction as a boundary, and no other change of the context", () => {
  const change = (step_id: number, type: string) => ({
    step_id,
    source: "system",
    timestamp: `2026-11-20T10:0${step_id}:00Z`,
    message: "",
    extra: { context_management: { type, boundary: "replace" } },
  });
  const steps = [step(), change(2, "compaction"), change(3, "pruning"), change(4, "injection")];
  const { events } = read({ "t.json": file("s", steps) });
  expect(events.filter(({ type }) => type !== "turn" && type !== "session")).toMatchObject([
    { type: "compacted", trigger: "auto" },
  ]);
});

it("passes over values of other types", () => {
  const odd = {
    session_id: "s",
    steps: [null, 7, "x", { source: "agent", metrics: [] }],
    subagent_trajectories: [1],
  };
  expect(read({ "t.json": { ...odd, schema_version: "ATIF-v1.8" } }).events).toEqual([]);
});
