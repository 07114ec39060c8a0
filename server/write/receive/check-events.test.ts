import { expect, it } from "vitest";
import { EventCheck } from "./check-events.ts";

const NOW = Date.parse("2026-11-27T12:00:00Z");
const turn = (id: string, session: string, more: object = {}) => ({
  value: {
    ...{ type: "turn", id, at: NOW, harness: "h@one", session, model: "m", usage: { input_tokens: 1 } },
    ...more,
  },
});
const hello = {
  value: { type: "harness", id: "h", at: NOW, harness: "h@one", status: "hello", name: "H" },
};

it("names the person whose key sends once for each session, and with each event of a harness itself", () => {
  const checked = new EventCheck(NOW, { person: "ada" });
  for (const event of [turn("1", "a"), turn("2", "a"), hello, turn("3", "b"), turn("4", "a"), hello])
    checked.add(event);
  expect(checked.events.map(({ person }) => person ?? null)).toEqual([
    "ada",
    null,
    "ada",
    "ada",
    null,
    "ada",
  ]);
});

it("names the person with each reading of a quota, whose session does not matter", () => {
  const checked = new EventCheck(NOW, { person: "ada" });
  const quota = (id: string) => ({
    value: {
      ...{ type: "quota", id, at: NOW, harness: "h@one", session: "a", provider: "anthropic" },
      ...{ limit: "five_hour", window_minutes: 300, used_percent: 40, resets_at: NOW },
    },
  });
  for (const event of [quota("1"), turn("2", "a"), quota("3")]) checked.add(event);
  expect(checked.events.map(({ person }) => person ?? null)).toEqual(["ada", "ada", "ada"]);
});

it("believes no sender who the person is", () => {
  for (const person of [undefined, "ada"]) {
    const checked = new EventCheck(NOW, { person });
    for (const event of [turn("1", "a", { person: "bob" }), turn("2", "a", { person: "bob" })])
      checked.add(event);
    expect(checked.rejected).toEqual([]);
    expect(checked.events.map((event) => event.person)).toEqual([person, undefined]);
  }
});
