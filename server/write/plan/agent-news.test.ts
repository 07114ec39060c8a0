import type { PlimsollEvent } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { reportedRow } from "../../db/tables/boundaries.ts";
import { blocksOf } from "../../db/tables/turn-blocks.ts";
import { turnRow } from "../../db/tables/turns.ts";
import { parsedEvent } from "../../testing/events.ts";
import { hasEvents, NOTHING_STORED, newsOf, type StoredEvents } from "./agent-news.ts";
import { type ArrivedAgent, groupEvents } from "./group-events.ts";

const turn = (input: number, output = 5, more: Record<string, unknown> = {}) =>
  parsedEvent({
    id: "t",
    type: "turn",
    model: "m",
    usage: { input_tokens: input, output_tokens: output },
    ...more,
  });
const masked = (observations: number, at = 1_000) =>
  parsedEvent({ id: "m", type: "masked", at, observations });

/** Each argument is the events of one request. */
function arrived(...requests: PlimsollEvent[][]): ArrivedAgent {
  const received = requests.map((events, request) => ({ events, request, receivedAt: 2_000 }));
  return [...groupEvents(1, received).agents.values()][0]!;
}

/** What the database holds after these events. */
function stored(...events: PlimsollEvent[]): StoredEvents {
  const { turns, marks, id } = arrived(events);
  const place = { agentId: id, sessionId: id, receivedAt: 2_000 };
  return {
    turns: new Map(
      [...turns].map(([key, { facts }]) => {
        const contextTokens = facts.usage.input_tokens;
        const reading = {
          turn: facts,
          report: facts,
          isRepeat: false,
          window: 0,
          contextTokens,
          windowTokens: 1_000,
          windowSource: "catalog" as const,
          utilization: 0.1,
          rebuild: undefined,
        };
        const row = turnRow(reading, { agent: 1, modelId: 1, receivedAt: 2_000 });
        return [key, { reading, row, block: blocksOf([row])[0]! }];
      }),
    ),
    marks: new Map(
      [...marks].map(([key, mark]) => {
        const reading = {
          id: key,
          type: mark.facts.type,
          at: mark.facts.at,
          window: 0,
          tokensBefore: undefined,
          tokensAfter: undefined,
        };
        return [key, reportedRow(mark, reading, place)];
      }),
    ),
  };
}

/** The news in short: what they hold, and the outcome of each event in order. */
function inShort(agent: ArrivedAgent, known: StoredEvents) {
  const news = newsOf(agent, known);
  const kinds = [
    ...news.newTurns.map(() => "new turn"),
    ...news.changedTurns.map(({ moves }) => (moves ? "turn that moves" : "turn that grew")),
    ...news.newMarks.map(() => "new mark"),
    ...news.replacedMarks.map(() => "replaced mark"),
  ];
  expect(hasEvents(news)).toBe(kinds.length > 0);
  return { kinds, outcomes: news.outcomes.map(({ outcome, request }) => `${request} ${outcome}`) };
}

describe("the news of an agent", () => {
  it.each<[string, PlimsollEvent[][], StoredEvents, string[], string[]]>([
    ["a new turn", [[turn(100)]], NOTHING_STORED, ["new turn"], ["0 turn"]],
    ["a turn sent again", [[turn(100)]], stored(turn(100)), [], ["0 duplicate"]],
    ["a turn sent again with smaller counts", [[turn(50, 1)]], stored(turn(100)), [], ["0 duplicate"]],
    [
      "a turn sent again at a later time",
      [[turn(100, 5, { at: 9_000 })]],
      stored(turn(100)),
      [],
      ["0 duplicate"],
    ],
    ["a turn with more output", [[turn(100, 9)]], stored(turn(100)), ["turn that grew"], ["0 turn_merged"]],
    ["a turn with a larger prompt", [[turn(120)]], stored(turn(100)), ["turn that moves"], ["0 turn_merged"]],
    [
      "a turn at an earlier time",
      [[turn(100, 5, { at: 500 })]],
      stored(turn(100)),
      ["turn that moves"],
      ["0 turn_merged"],
    ],
    [
      "one new turn in two requests",
      [[turn(100)], [turn(100)]],
      NOTHING_STORED,
      ["new turn"],
      ["0 turn", "1 duplicate"],
    ],
    [
      "a new turn that grows",
      [[turn(100)], [turn(100, 9)]],
      NOTHING_STORED,
      ["new turn"],
      ["0 turn", "1 turn_merged"],
    ],
    [
      "a stored turn sent twice, grown the second time",
      [[turn(100)], [turn(100, 9)]],
      stored(turn(100)),
      ["turn that grew"],
      ["0 turn_merged", "1 turn_merged"],
    ],
    ["a new mark", [[masked(1)]], NOTHING_STORED, ["new mark"], ["0 mark"]],
    ["a mark sent again", [[masked(1)], [masked(1)]], stored(masked(1)), [], ["0 duplicate", "1 duplicate"]],
    [
      "another mark with the id, earlier",
      [[masked(2, 500)]],
      stored(masked(1)),
      ["replaced mark"],
      ["0 duplicate"],
    ],
    ["another mark with the id, later", [[masked(2, 5_000)]], stored(masked(1)), [], ["0 duplicate"]],
    [
      "another mark with the id, smaller text",
      [[masked(1)]],
      stored(masked(2)),
      ["replaced mark"],
      ["0 duplicate"],
    ],
    ["another mark with the id, larger text", [[masked(2)]], stored(masked(1)), [], ["0 duplicate"]],
  ])("of %s", (_, requests, known, kinds, outcomes) => {
    expect(inShort(arrived(...requests), known)).toEqual({ kinds, outcomes });
  });

  it("merge what arrived with what is stored", () => {
    const { changedTurns } = newsOf(arrived([turn(50, 9)]), stored(turn(100, 5)));
    expect(changedTurns[0]!.after.usage).toMatchObject({ input_tokens: 100, output_tokens: 9 });
  });

  it("stay empty if what they lead to is sent again", () => {
    const known = stored(turn(100, 5));
    const { changedTurns } = newsOf(arrived([turn(50, 9)]), known);
    const { before, after } = changedTurns[0]!;
    const now = { ...before, reading: { ...before.reading, turn: after, report: after } };
    const again = newsOf(arrived([turn(50, 9), turn(100, 5)]), {
      ...known,
      turns: new Map([[after.key, now]]),
    });
    expect(hasEvents(again)).toBe(false);
  });
});
