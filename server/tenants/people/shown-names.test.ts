import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KnownPerson, SMALL_GROUP, shownNames } from "./shown-names.ts";

const group = (size: number, more = 0): KnownPerson[] =>
  Array.from({ length: size + more }, (_, index) => ({
    id: `p${index}`,
    name: `Person ${index}`,
    belongs: index < size,
  }));
const seen = (people: readonly KnownPerson[], hides: boolean, viewer?: string) => [
  ...shownNames(people, hides, viewer).keys(),
];

describe("the names of people", () => {
  it.each([
    ["are shown while the project does not hide them", group(1), false, undefined, ["p0"]],
    ["are hidden in a group of four", group(4), true, undefined, []],
    ["are shown in a group of five", group(5), true, undefined, ["p0", "p1", "p2", "p3", "p4"]],
    ["of those without a role make no group larger", group(4, 3), true, undefined, []],
    ["are shown to their owners", group(4), true, "p2", ["p2"]],
  ] as const)("%s", (_, people, hides, viewer, expected) => {
    expect(seen(people, hides, viewer)).toEqual(expected);
  });

  it("hide nobody from themselves, and show a small group nothing else", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 12 }), fc.nat(12), fc.boolean(), (size, index, hides) => {
        const people = group(size);
        const viewer = people[index]?.id;
        const ids = seen(people, hides, viewer);
        if (viewer !== undefined) expect(ids).toContain(viewer);
        if (hides && size < SMALL_GROUP) expect(ids.length).toBe(viewer === undefined ? 0 : 1);
        else expect(ids.length).toBe(size);
      }),
    );
  });
});
