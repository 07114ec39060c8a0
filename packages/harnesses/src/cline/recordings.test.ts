import { describe, expect, it } from "vitest";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { clineRecordings } from "./recordings.ts";

const START = Date.UTC(2026, 10, 20, 10);
const answer = (second: number, id: string, inputTokens: number) => ({
  role: "assistant",
  id,
  ts: START + second * 1_000,
  metrics: { inputTokens, outputTokens: 9 },
});
const file = (sessionId: string, agent: string, messages: object[]) => ({
  path: `.cline/data/sessions/lead/${sessionId}.messages.json`,
  lines: json({ version: 1, updated_at: "x", agent, sessionId, messages }),
});
const read = (...files: ReturnType<typeof file>[]) =>
  readAll(clineRecordings.reader({ harness: "cline@host", titles: true }), files);

// Names of sessions: makeSubSessionId and makeTeamTaskSubSessionId of @cline/core 0.0.86.
describe("sessions of Cline's command line", () => {
  it("have their sub-agents, each with a window of its own", () => {
    const { events } = read(
      file("1795_AB", "lead", [answer(1, "m1", 50_000), answer(9, "m2", 60_000)]),
      file("1795_AB__agent_1", "subagent", [answer(2, "s1", 9_000)]),
      file("1795_AB__agent_2", "subagent", [answer(3, "s2", 8_000)]),
    );
    const folds = foldEvents(events);
    expect([...folds].map(([agent, fold]) => [agent, levels(fold)])).toEqual([
      ["1795_AB main", [50_000, 60_000]],
      ["1795_AB agent-agent_1", [9_000]],
      ["1795_AB agent-agent_2", [8_000]],
    ]);
    expect(events.find(({ id }) => id === "s1")).toMatchObject({
      parent_agent: "main",
      own_session: "1795_AB__agent_1",
    });
  });

  it("have one agent for the tasks of a teammate", () => {
    const { events } = read(
      file("1795_AB__teamtask__tester__a1b2c3", "teammate", [answer(1, "t1", 5_000)]),
      file("1795_AB__teamtask__tester__d4e5f6", "teammate", [answer(1, "t1", 5_000), answer(4, "t2", 7_000)]),
    );
    expect(levels(foldEvents(events).get("1795_AB agent-tester"))).toEqual([5_000, 7_000]);
  });

  it.each([
    ["a name without a session", "odd", "subagent", "odd agent-subagent"],
    ["the lead of a session with such a name", "a__b", "lead", "a__b main"],
    ["nothing before the line", "__x", "subagent", "__x agent-subagent"],
  ])("are kept apart with %s", (_, session, agent, key) => {
    const { events } = read(file(session, agent, [answer(1, "m1", 5_000)]));
    expect(levels(foldEvents(events).get(key))).toEqual([5_000]);
  });

  it("have the levels of the turns around a compaction, not its estimate of the messages", () => {
    const { events } = read(
      file("s", "lead", [
        answer(1, "m1", 150_000),
        { role: "user", ts: START + 2_000, metadata: { kind: "compaction_summary", tokensBefore: 131_000 } },
        answer(3, "m2", 30_000),
      ]),
    );
    const fold = foldEvents(events).get("s main")!;
    expect([...fold.marks.values()]).toMatchObject([{ tokensBefore: 150_000, tokensAfter: 30_000 }]);
  });
});
