import { PolicyBody } from "@plimsoll/protocol/policy";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { suggestions, unknownFields } from "./yaml-completion.ts";

const SCHEMA = z.toJSONSchema(PolicyBody, { io: "input", unrepresentable: "any" });
const labels = (before: string) => suggestions(SCHEMA, before).map(({ label }) => label);

describe("suggestions", () => {
  it.each([
    ["at the start", "", ["settings", "layers"]],
    ["without what is there", "settings:\n  overflow: cut\n", ["layers"]],
    ["of a group", "settings:\n  thresholds:\n    ", ["warning", "ceiling", "soft", "hard", "reserve"]],
    [
      "of a group that has some",
      "settings:\n  thresholds:\n    soft: 70%\n    ",
      ["warning", "ceiling", "hard", "reserve"],
    ],
    ["of a scope", "layers:\n  - scope:\n      ", ["family", "model", "harness"]],
    ["in a layer", "layers:\n  - scope:\n      family: phantom\n    ", ["settings"]],
    [
      "in the settings of a layer",
      "layers:\n  - scope:\n      family: a\n    settings:\n      thresholds:\n        soft: 1%\n      pace:\n        ",
      ["room_turns", "min_turns"],
    ],
    [
      "past comments and blank lines",
      "settings:\n  # why\n\n  thresholds:\n\n    # and how\n    ",
      ["warning", "ceiling", "soft", "hard", "reserve"],
    ],
    ["of an unknown group", "settings:\n  invented:\n    ", []],
  ])("%s", (_, before, expected) => {
    expect(labels(before)).toEqual(expected);
  });

  it.each([
    ["of a choice", "settings:\n  enforcement: ", ["enforce", "warn_only"]],
    ["of a switch", "settings:\n  masking:\n    enabled: ", ["true", "false"]],
    ["of a threshold", "settings:\n  thresholds:\n    soft: ", ["null"]],
    ["of a number", "settings:\n  pace:\n    min_turns: ", []],
  ])("values %s", (_, before, expected) => {
    expect(labels(before)).toEqual(expected);
  });
});

describe("fields that this version does not know", () => {
  it.each<[unknown, string[]]>([
    [{ settings: { compaction: { reinject: true } } }, []],
    [{ settings: { compaction: { reinjekt: true } } }, ["settings.compaction.reinjekt"]],
    [
      { settings: { thresholds: { ceilling: "15%", ceiling: { percent: 1, floor: 2 } } } },
      ["settings.thresholds.ceilling"],
    ],
    [
      {
        layers: [
          { scope: { family: "codex" }, settings: {} },
          { scope: {}, settings: { constructor: 1 }, note: "" },
        ],
      },
      ["layers.1.settings.constructor", "layers.1.note"],
    ],
    [
      { settings: { masking: { exclude: ["skill"] }, dreams: { every: 3 } }, schedule: [1] },
      ["settings.dreams", "schedule"],
    ],
    [undefined, []],
    [[{ settings: {} }], []],
  ])("of %j: %j", (policy, paths) => expect(unknownFields(SCHEMA, policy)).toEqual(paths));
});
