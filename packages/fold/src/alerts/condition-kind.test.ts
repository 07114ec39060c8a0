import { readAlertRule } from "@plimsoll/protocol/alerts";
import { describe, expect, it } from "vitest";
import { writtenDuration } from "./condition-kind.ts";
import { CONDITION_TYPES, conditionKind } from "./conditions/index.ts";

it.each(CONDITION_TYPES)(
  "the condition %s has a phrase, and a form that begins with a valid rule",
  (type) => {
    const { phrase, start } = conditionKind({ type });
    expect(phrase(start)).toMatch(/^\S.*\S$/);
    expect(readAlertRule({ name: "new", condition: start })).toMatchObject({ ok: true });
  },
);

describe("a duration of a rule", () => {
  it.each([
    ["90s", "90 s"],
    ["10m", "10 min"],
    ["4h", "4 h"],
    ["1d", "1 d"],
    ["", ""],
    ["soon", "soon"],
  ])("%j reads %j", (written, text) => expect(writtenDuration(written)).toBe(text));
});
