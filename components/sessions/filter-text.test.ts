import { expect, test } from "vitest";
import { filterChips } from "./filter-text.ts";

const NONE = {
  q: "",
  kind: null,
  status: null,
  model: null,
  machine: null,
  repository: null,
  branch: null,
  person: null,
  reason: null,
  warned: null,
  tag: null,
};

test("without filters there are no chips, and the text has none either", () => {
  expect(filterChips(NONE, null)).toEqual([]);
  expect(filterChips({ ...NONE, q: "incident" }, null)).toEqual([]);
});

test("each filter has a chip that says what it keeps", () => {
  const filters = { ...NONE, reason: "subtick", warned: "1", tag: "keep", model: "opus" } as const;
  expect(filterChips(filters, "phantom@vm-3").map(({ name, value }) => [name, value])).toEqual([
    ["Harness", "phantom@vm-3"],
    ["Model", "opus"],
    ["Fell by", "sub-tick"],
    ["Past warning", undefined],
    ["Tag", "keep"],
  ]);
});
