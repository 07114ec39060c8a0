import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isBoundary, type PlimsollEventInput, parseEvent, type Usage } from "@plimsoll/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
import { type PolicyInput, resolvePolicy } from "../policy/policy.ts";
import { counted, filler, testGuard, toolTurn } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";
import { type Recorded, replay } from "./replay.ts";

const WINDOW = 10_000;
const FIXTURES = fileURLToPath(new URL("../../../../shared/fixtures/agentd", import.meta.url));

/** Returns one recorded turn with unknown counts except the given ones. */
function turnOf(
  id: string,
  at: number,
  told: Partial<Usage>,
  windowTokens: number | undefined = WINDOW,
): Recorded {
  const usage: Usage = {
    input_tokens: undefined,
    cache_read_tokens: undefined,
    cache_write_tokens: undefined,
    output_tokens: undefined,
    reasoning_tokens: undefined,
    ...told,
  };
  return { type: "turn", id, at, model: "test-model", usage, windowTokens };
}

/** Returns the recording that a server has of a guard's events: turns and boundaries. */
function recordingOf(events: readonly PlimsollEventInput[]): Recorded[] {
  return events.flatMap((sent): Recorded[] => {
    const parsed = parseEvent(sent);
    if (!parsed.ok) throw new Error(JSON.stringify(sent));
    const { event } = parsed;
    if (event.type === "turn") {
      return event.purpose === undefined ? [turnOf(event.id, event.at, event.usage)] : [];
    }
    return isBoundary(event.type) ? [{ type: event.type }] : [];
  });
}

const crossingsOf = (events: readonly PlimsollEventInput[]) =>
  events.flatMap((event) =>
    event.type === "threshold_crossed"
      ? [{ threshold: event.threshold, up: event.direction === "up", contextTokens: event.context_tokens }]
      : [],
  );
const crossed = (turns: ReturnType<typeof replay>) =>
  turns.flatMap(({ crossings }) =>
    crossings.map(({ threshold, up, contextTokens }) => ({ threshold, up, contextTokens })),
  );

/** Runs a guarded agent and returns its events and levels. */
async function guardedRun(policy: PolicyInput, turns: number) {
  const { guard, events } = testGuard({ policy, window: WINDOW });
  const history: Message[] = [
    { role: "system", content: filler(100) },
    { role: "user", content: "read it all" },
  ];
  const levels: (number | undefined)[] = [];
  for (let turn = 0; turn < turns; turn++) {
    history.push(...toolTurn(400 + ((turn * 137) % 900)));
    const { messages } = await fit(guard, history, { summarize: "without_model" });
    levels.push(guard.observe({ id: `t${turn}`, usage: { prompt_tokens: counted(messages) } }).level);
  }
  return { events, levels };
}

describe("a replayed recording", () => {
  it.each<[string, PolicyInput]>([
    ["masks and restarts", { thresholds: { ceiling: null, soft: "70%", hard: "90%" } }],
    ["only restarts", { thresholds: { ceiling: null, hard: "60%" }, mask: null, restart: { graceTurns: 2 } }],
    ["compacts", { thresholds: { warning: "30%", ceiling: "50%", soft: null, hard: null }, mask: null }],
  ])("matches the live guard that recorded it: %s", async (_, policy) => {
    const { events, levels } = await guardedRun(policy, 60);
    expect(events.filter(({ type }) => isBoundary(type)).length).toBeGreaterThan(2);
    const turns = replay(recordingOf(events), resolvePolicy(policy));
    expect(turns.map(({ level }) => level)).toEqual(levels);
    expect(crossed(turns)).toEqual(crossingsOf(events));
    // The live guard winds down before the call that crosses the line, the replay after it; the number is the same.
    const told = turns.filter(({ due }) => due.includes("wind_down")).length;
    expect(told).toBe(events.filter(({ type }) => type === "wind_down").length);
  });

  it("matches the live guard for repeated, missing and unordered counts", () => {
    const call = fc.record({
      id: fc.integer({ min: 0, max: 12 }),
      tokens: fc.option(fc.integer({ min: 1, max: 12_000 }), { nil: undefined }),
      restart: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
        const { guard, events } = testGuard({ window: WINDOW });
        const recording: Recorded[] = [];
        const seen: unknown[] = [];
        for (const { id, tokens, restart } of calls) {
          const { level, flags, kind } = guard.observe(
            { prompt_tokens: tokens, completion_tokens: 3 },
            { id: `t${id}` },
          );
          const counts = { input_tokens: tokens, output_tokens: 3, basis: "inclusive" } as const;
          recording.push(turnOf(`t${id}`, 0, counts));
          seen.push({ level, flags, merged: kind === "merged" });
          if (!restart) continue;
          guard.restart();
          recording.push({ type: "restarted" });
        }
        const turns = replay(recording, resolvePolicy());
        expect(turns.map(({ level, flags, merged }) => ({ level, flags, merged }))).toEqual(seen);
        expect(crossed(turns)).toEqual(crossingsOf(events));
      }),
    );
  });

  it.skipIf(!existsSync(FIXTURES))("matches the live guard on recordings of real agents", () => {
    const policy = {
      mode: "warn_only",
      thresholds: { warning: 1_500, ceiling: 3_000, soft: null, hard: null },
    } as const;
    let turnsSeen = 0;
    for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith(".jsonl"))) {
      const { guard, events } = testGuard({ window: WINDOW, policy });
      for (const line of readFileSync(join(FIXTURES, file), "utf8").trim().split("\n")) {
        const { event } = JSON.parse(line);
        if (event?.event !== "InferResult" || event.parent_op_id !== undefined) continue;
        const { input_tokens, output_tokens } = event;
        turnsSeen += 1;
        guard.observe({ usage: { prompt_tokens: input_tokens, completion_tokens: output_tokens } });
      }
      const turns = replay(recordingOf(events), resolvePolicy(policy));
      expect(turns.at(-1)?.level, file).toBe(guard.state.level);
      expect(Math.max(0, ...turns.map(({ level }) => level ?? 0)), file).toBe(guard.state.peak);
      expect(crossed(turns), file).toEqual(crossingsOf(events));
    }
    expect(turnsSeen).toBeGreaterThan(20);
  });

  const levels = (...tokens: number[]): Recorded[] =>
    tokens.map((input_tokens, index) => turnOf(`t${index}`, index, { input_tokens }));
  const dueOf = (recording: Recorded[], input: PolicyInput) =>
    replay(recording, resolvePolicy(input)).map(({ due }) => due.join(" "));

  it("lists each response once while it stays due, for any thresholds", () => {
    const recording = levels(3_000, 5_500, 6_000, 4_000, 7_500, 9_600, 9_700, 9_800, 9_900, 2_000);
    const policy = {
      thresholds: { warning: null, ceiling: "70%", soft: "50%", hard: "95%" },
      restart: { graceTurns: 2 },
    } as const;
    expect(dueOf(recording, policy)).toEqual([
      "",
      "mask",
      "",
      "",
      "mask compact",
      "wind_down",
      "",
      "restart",
      "",
      "",
    ]);
    expect(dueOf(recording, { ...policy, mode: "warn_only" })).toEqual(recording.map(() => ""));
    expect(dueOf(recording, { ...policy, restart: { how: "off" }, mask: null })[5]).toBe("");
  });

  it("restarts the grace turns after a recorded restart", () => {
    const policy = {
      thresholds: { ceiling: null, soft: null, hard: "50%" },
      restart: { graceTurns: 2 },
    } as const;
    const high = levels(6_000, 6_000);
    const recording: Recorded[] = [
      ...high,
      { type: "restarted" },
      ...levels(0, 0, 6_000, 6_000, 6_000).slice(2),
    ];
    expect(dueOf(recording, policy)).toEqual(["wind_down", "", "wind_down", "", "restart"]);
  });

  it("has no lines while the window size is unknown", () => {
    const recording = levels(9_900).map((one) => ({ ...one, windowTokens: undefined }));
    expect(replay(recording, resolvePolicy())).toMatchObject([
      { level: 9_900, utilization: undefined, due: [] },
    ]);
  });

  it("is deterministic and does not change its input", () => {
    const recording = Object.freeze(levels(3_000, 9_900, 2_000).map((one) => Object.freeze(one)));
    const policy = Object.freeze(resolvePolicy());
    expect(replay(recording, policy)).toEqual(replay(recording, policy));
  });
});
