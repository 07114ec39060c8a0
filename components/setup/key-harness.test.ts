import { expect, it } from "vitest";
import { harnessNote } from "./key-harness.ts";

const INSTANCES = ["support@web-1", "Support@web-2", "codex@ci", "lonely"];
const UNKNOWN = "No harness of this name has reported yet. The key works once one does.";

it.each([
  ["", "The instance or the family whose agents may ask."],
  ["support@web-1", "Answers agents of the instance support@web-1."],
  ["SUPPORT", "Answers agents of all instances of SUPPORT: 2 instances so far."],
  ["codex", "Answers agents of all instances of codex: 1 instance so far."],
  ["lonely", "Answers agents of the instance lonely."],
  ["support@web-3", UNKNOWN],
  ["*", UNKNOWN],
  ["@", UNKNOWN],
])("the harness %j of a key: %s", (name, note) => expect(harnessNote(name, INSTANCES)).toBe(note));

it("says nothing of harnesses that are not loaded", () => {
  expect(harnessNote("support", undefined)).toBe("The instance or the family whose agents may ask.");
});
