import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { fit } from "../fit.ts";
import type { PolicyInput } from "../policy/policy.ts";
import {
  ASK,
  counted,
  filler,
  OUROBOROS,
  SYSTEM,
  testGuard,
  toolTurn,
  usage,
} from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";
import type { Action } from "./types.ts";

/** One random turn of a harness. */
interface Turn {
  size: number;
  tool: boolean;
  /**
   * `fits` calls `fit`. The others call `prepare` and give a requested summary at once, after the next prompt, or
   * never.
   */
  harness: "fits" | "answers" | "late" | "silent";
  /** Tokens of the summary; null if the summariser throws. */
  summary: number | null;
  confirms: boolean;
}

const turn = fc.record<Turn>({
  size: fc.integer({ min: 100, max: 1_500 }),
  tool: fc.boolean(),
  harness: fc.constantFrom("fits", "answers", "late", "silent"),
  summary: fc.constantFrom(5, 300, 20_000, null),
  confirms: fc.boolean(),
});

const COMPACTING = { warning: null, ceiling: "40%", soft: null, hard: "80%" } as const;
const policy = fc.constantFrom<PolicyInput>(
  { ...OUROBOROS, restart: { graceTurns: 1 } },
  { ...OUROBOROS, mask: null, restart: { graceTurns: 0, max: 1 } },
  { ...OUROBOROS, mask: null, restart: { how: "ask", graceTurns: 1, max: 1 } },
  { thresholds: COMPACTING, compact: { minGain: 0.4 }, restart: { graceTurns: 1 } },
  { thresholds: COMPACTING, mask: null, compact: { how: "fresh_session" }, restart: { how: "ask", max: 3 } },
  { thresholds: COMPACTING, mask: null, restart: { graceTurns: 0 } },
);

type ActionKind = Action<Message>["type"];

/** Returns the action that an event reports. A summary request is reported by its result. */
function actionOf(event: PlimsollEventInput): ActionKind | "summary" | undefined {
  switch (event.type) {
    case "masked":
      return "mask";
    case "compacted":
      return "summary";
    case "wind_down":
      return "wind_down";
    case "restarted":
      return event.reason === "ceiling" ? "summary" : "restart";
    case "withheld":
      if (event.response === "compact") return "summary";
      if (event.reason === "no_gain") return undefined;
      return event.reason === "max_restarts" ? "stop" : "confirm_restart";
    default:
      return undefined;
  }
}

it("each action sends exactly one event, and no event reports an action that did not happen", async () => {
  const seen = new Set<string>();
  let overtaken = false;
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 20, maxLength: 60 }), policy, async (turns, one) => {
      const { guard, events } = testGuard({ policy: one });
      const history: Message[] = [SYSTEM, ASK];
      const actions: Action<Message>[] = [];
      let late: "compact" | "fresh_session" | undefined;
      const count = <T>(list: readonly T[], kind: (one: T) => unknown, of: string) =>
        list.filter((each) => kind(each) === of).length;
      for (const [at, { size, tool, harness, summary, confirms }] of turns.entries()) {
        if (tool) history.push(...toolTurn(size));
        else history.push({ role: "assistant", content: filler(size) }, { role: "user", content: "more" });
        const prepared =
          harness !== "fits"
            ? guard.prepare(history)
            : await fit(guard, history, {
                summarize: () => {
                  if (summary === null) throw new Error("unavailable");
                  return filler(summary);
                },
                confirm: () => confirms,
              });
        actions.push(...prepared.actions);
        if (late !== undefined) overtaken ||= guard.compacted(filler(5), late) === "overtaken";
        late = undefined;
        for (const { type } of prepared.actions) {
          if (type !== "compact" && type !== "fresh_session") continue;
          if (harness === "answers") guard.compacted(filler(summary ?? 5), type);
          if (harness === "late") late = type;
        }
        guard.observe(usage(counted(prepared.messages), `t${at}`));
        for (const kind of ["mask", "wind_down", "restart", "confirm_restart", "stop"]) {
          expect(count(events, actionOf, kind), kind).toBe(count(actions, ({ type }) => type, kind));
        }
        const asked = actions.filter(({ type }) => type === "compact" || type === "fresh_session").length;
        const open = guard.state.compactAsked === undefined ? 0 : 1;
        expect(count(events, actionOf, "summary") + open, "summaries").toBe(asked);
      }
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      for (const event of events) seen.add(event.type === "withheld" ? event.reason : event.type);
    }),
    { numRuns: 50 },
  );
  // Check that the random streams produced every kind of event.
  const done = ["masked", "compacted", "wind_down", "restarted"];
  const withheld = ["max_restarts", "unconfirmed", "no_gain", "no_summary"];
  for (const kind of [...done, ...withheld]) expect([...seen]).toContain(kind);
  expect(overtaken).toBe(true);
});
