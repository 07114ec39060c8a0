import { describe, expect, it } from "vitest";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { miniSweAgentRecordings } from "./recordings.ts";

const answer = (second: number, content: string, more: object = {}) => ({
  role: "assistant",
  content,
  extra: {
    response: {
      id: `gen-${second}`,
      model: "google/gemini-3-pro-preview",
      created: 1_763_510_516 + second,
      usage: { prompt_tokens: 1_000 * second, completion_tokens: 9, cost: 0.01 },
    },
    ...more,
  },
});
const bash = (command: string) => `Look.\n\n\`\`\`bash\n${command}\n\`\`\``;
const said = (content: string, more: object = {}) => ({ role: "user", content, ...more });
const returned = (code: number) => said(`<returncode>${code}</returncode>\n<output>\n</output>`);

function read(messages: object[], more: object = {}) {
  const run = { trajectory_format: "mini-swe-agent-1", instance_id: "run-1", messages, ...more };
  const reader = miniSweAgentRecordings.reader({ harness: "mini-swe-agent@host", titles: true });
  return readAll(reader, [{ path: "a.traj.json", lines: json(run) }]);
}
const outcomes = (messages: object[]) => {
  const [run] = foldEvents(read(messages).events).values();
  return run!.turns.map(({ turn: { outcome } }) => outcome);
};

describe("a trajectory of mini-SWE-agent", () => {
  it("has a turn for each answer, with its prompt, model and cost", () => {
    const { events } = read([answer(1, bash("ls")), returned(0), answer(2, bash("pwd")), returned(0)]);
    const folds = foldEvents(events);
    expect(levels(folds.get("run-1 main"))).toEqual([1_000, 2_000]);
    expect(events.find(({ type }) => type === "turn")).toMatchObject({
      model: "google/gemini-3-pro-preview",
      cost_usd: 0.01,
      at: 1_763_510_517_000,
    });
  });

  it("says what came of each command: failed, repeated, or not run", () => {
    expect(
      outcomes([
        answer(1, bash("grep x y")),
        returned(1),
        answer(2, bash("grep x y")),
        returned(0),
        answer(3, "I am done."),
        said("Please write one command."),
        answer(4, bash("submit")),
      ]),
    ).toMatchObject([
      { calls: 1, failed: 1, repeated: 0 },
      { calls: 1, failed: 0, repeated: 1 },
      undefined,
      { calls: 1, repeated: 0 },
    ]);
  });

  it("of the second version has its commands and their codes in fields", () => {
    const action = answer(1, "Look.", { actions: [{ command: "make test" }], timestamp: 1_763_510_600.5 });
    const { events } = read([action, said("broken", { extra: { returncode: 2 } })]);
    expect(events.find(({ type }) => type === "turn")).toMatchObject({
      at: 1_763_510_600_500,
      outcome: { calls: 1, failed: 1, failed_tests: 1 },
    });
  });

  it("no command, output or thought leaves it", () => {
    const secret = "cat /etc/shadow # 7c1e";
    const { events } = read([
      said("fix 7c1e"),
      answer(1, bash(secret)),
      said("<returncode>1</returncode> 7c1e"),
    ]);
    expect(JSON.stringify(events)).not.toMatch(/7c1e|shadow|Look/);
  });

  it("without counts is skipped, with the reason", () => {
    const { skipped } = read([{ role: "assistant", content: bash("ls") }]);
    expect(skipped).toMatchObject({ no_usage: 1 });
  });
});
