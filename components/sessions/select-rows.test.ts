import fc from "fast-check";
import { expect, test } from "vitest";
import {
  extendTo,
  MOST_SELECTED,
  NOTHING_SELECTED,
  type Selection,
  toggleAll,
  toggleRow,
} from "./select-rows.ts";

const ORDER = [..."abcdef"];
const text = ({ ids }: Selection) => [...ids].sort().join("");

test("a click selects a row, and a second click does not any more", () => {
  const once = toggleRow(NOTHING_SELECTED, "b");
  expect(text(once)).toBe("b");
  expect(text(toggleRow(once, "b"))).toBe("");
});

test.each([
  ["b", "e", "bcde"],
  ["e", "b", "bcde"],
  ["c", "c", "c"],
])("Shift-click from %s to %s selects %s", (from, to, selected) => {
  expect(text(extendTo(toggleRow(NOTHING_SELECTED, from), to, ORDER))).toBe(selected);
});

test("Shift-click from a row that is not selected takes rows out", () => {
  const all = toggleAll(NOTHING_SELECTED, ORDER);
  expect(text(extendTo(toggleRow(all, "b"), "d", ORDER))).toBe("aef");
});

test("Shift-click selects one row if the last clicked row is gone", () => {
  expect(text(extendTo(toggleRow(NOTHING_SELECTED, "gone"), "c", ORDER))).toBe("cgone");
});

test("all rows are selected, then none", () => {
  const all = toggleAll(toggleRow(NOTHING_SELECTED, "c"), ORDER);
  expect(text(all)).toBe("abcdef");
  expect(text(toggleAll(all, ORDER))).toBe("");
});

test("a selection never exceeds what the server changes at once", () => {
  const order = Array.from({ length: MOST_SELECTED + 300 }, (_, index) => `row-${index}`);
  const row = fc.nat(order.length - 1).map((index) => order[index]!);
  const steps = fc.array(fc.tuple(fc.constantFrom("toggle", "extend", "all"), row), { maxLength: 12 });
  fc.assert(
    fc.property(steps, (taken) => {
      let selection = NOTHING_SELECTED;
      for (const [step, id] of taken) {
        if (step === "toggle") selection = toggleRow(selection, id);
        else if (step === "extend") selection = extendTo(selection, id, order);
        else selection = toggleAll(selection, order);
        expect(selection.ids.size).toBeLessThanOrEqual(MOST_SELECTED);
      }
    }),
    { numRuns: 50 },
  );
});
