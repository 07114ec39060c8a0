import fc from "fast-check";
import { expect, test } from "vitest";
import { holdOrder } from "./hold-order.ts";

const list = (text: string, turns = 0) => [...text].map((id) => ({ id, turns }));
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).join("");

test.each([
  ["abcd", "abcd", "abcd", 0, "nothing changed"],
  ["abcd", "dabc", "abcd", 1, "one row moved to the top"],
  ["abcd", "dcba", "abcd", 3, "three rows must move to reverse four"],
  ["abcd", "xyabcd", "abcd", 2, "two new rows at the top"],
  ["abcd", "acd", "abcd", 1, "one row is gone"],
  ["abcd", "xdbc", "abcd", 3, "one new, one gone, one moved"],
  ["abcd", "abcdefg", "abcdefg", 0, "the next page"],
  ["abcd", "xabcdef", "abcdef", 1, "a new row and the next page"],
  ["", "abc", "abc", 0, "an empty list takes what comes"],
  ["abc", "", "abc", 3, "all rows are gone"],
])("%s, now %s, is shown as %s with %d updates: %s", (held, latest, shown, updates) => {
  const result = holdOrder(list(held), list(latest, 5));
  expect(ids(result.rows)).toBe(shown);
  expect(result.updates).toBe(updates);
});

test("a row that stays has its latest values, a row that is gone its last ones", () => {
  const { rows } = holdOrder(list("ab", 1), list("b", 2));
  expect(rows).toEqual([
    { id: "a", turns: 1 },
    { id: "b", turns: 2 },
  ]);
});

test("shown rows never change places, and no row is shown twice", () => {
  const lists = fc.uniqueArray(fc.constantFrom(..."abcdefghijkl"), { maxLength: 12 });
  fc.assert(
    fc.property(lists, lists, (held, latest) => {
      const { rows, updates } = holdOrder(list(held.join("")), list(latest.join("")));
      expect(ids(rows).startsWith(held.join(""))).toBe(true);
      expect(new Set(ids(rows)).size).toBe(rows.length);
      // Without updates, applying them changes nothing.
      if (updates === 0) expect(ids(rows)).toBe(latest.join(""));
    }),
  );
});
