import fc from "fast-check";
import { expect, test } from "vitest";
import { type Box, placeLabels } from "./place-labels.ts";

const box = (left: number, top: number, width = 10, height = 10): Box => ({
  left,
  top,
  right: left + width,
  bottom: top + height,
});
const area = box(0, 0, 100, 100);
const nothing = { area, taken: [], lines: [] };
const wish = (rank: number, ...places: Box[]) => ({ rank, places });

test("a label takes its first position if it is free", () => {
  expect(placeLabels([wish(0, box(5, 5), box(50, 50))], nothing)).toEqual([box(5, 5)]);
});

test.each([
  ["an occupied box", { ...nothing, taken: [box(10, 10)] }],
  ["the edge of the chart", { ...nothing, area: box(20, 0, 80, 100) }],
  [
    "a horizontal line",
    {
      ...nothing,
      lines: [
        [
          { x: 0, y: 8 },
          { x: 100, y: 8 },
        ],
      ],
    },
  ],
  [
    "a vertical line",
    {
      ...nothing,
      lines: [
        [
          { x: 9, y: 0 },
          { x: 9, y: 100 },
        ],
      ],
    },
  ],
  [
    "a slope",
    {
      ...nothing,
      lines: [
        [
          { x: 0, y: 20 },
          { x: 20, y: 0 },
        ],
      ],
    },
  ],
  [
    "a line drawn right to left",
    {
      ...nothing,
      lines: [
        [
          { x: 20, y: 0 },
          { x: 0, y: 20 },
        ],
      ],
    },
  ],
])("a label avoids %s", (_, around) => {
  expect(placeLabels([wish(0, box(5, 5), box(50, 50))], around)).toEqual([box(50, 50)]);
});

test.each([
  [
    "above",
    [
      { x: 0, y: 4 },
      { x: 100, y: 4 },
    ],
  ],
  [
    "below",
    [
      { x: 0, y: 16 },
      { x: 100, y: 16 },
    ],
  ],
  [
    "beside",
    [
      { x: 16, y: 0 },
      { x: 16, y: 100 },
    ],
  ],
  [
    "past its corner",
    [
      { x: 10, y: 0 },
      { x: 25, y: 15 },
    ],
  ],
])("a line %s does not block a label", (_, line) => {
  expect(placeLabels([wish(0, box(5, 5), box(50, 50))], { ...nothing, lines: [line] })).toEqual([box(5, 5)]);
});

test("a required label may cover a line, but never another label", () => {
  const lines = [
    [
      { x: 0, y: 8 },
      { x: 100, y: 8 },
    ],
  ];
  const required = { ...wish(1, box(5, 5)), required: true };
  expect(placeLabels([wish(1, box(5, 5))], { ...nothing, lines })).toEqual([undefined]);
  expect(placeLabels([required], { ...nothing, lines })).toEqual([box(5, 5)]);
  expect(placeLabels([required, wish(2, box(7, 7))], nothing)).toEqual([undefined, box(7, 7)]);
});

test("a required label covers as few lines as possible", () => {
  const across = (y: number) => [
    { x: 0, y },
    { x: 100, y },
  ];
  const required = { ...wish(1, box(5, 5), box(5, 25), box(5, 45)), required: true };
  expect(placeLabels([required], { ...nothing, lines: [8, 12, 30, 50].map(across) })).toEqual([box(5, 25)]);
});

test("labels never overlap and never leave the chart", () => {
  const anyBox = fc
    .record({ left: fc.integer({ min: -20, max: 100 }), top: fc.integer({ min: -20, max: 100 }) })
    .map(({ left, top }) => box(left, top, 25, 12));
  const wishes = fc.array(
    fc.record({ rank: fc.integer({ min: 0, max: 3 }), places: fc.array(anyBox, { maxLength: 4 }) }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(wishes, fc.array(anyBox, { maxLength: 3 }), (given, taken) => {
      const placed = placeLabels(given, { ...nothing, taken }).filter((place) => place !== undefined);
      for (const [index, a] of placed.entries()) {
        expect(a.left >= 0 && a.right <= 100 && a.top >= 0 && a.bottom <= 100).toBe(true);
        for (const b of [...placed.slice(index + 1), ...taken]) {
          expect(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top).toBe(true);
        }
      }
    }),
  );
});

test("a line that reaches far beyond the area costs nothing, and is still not covered", () => {
  const area = { left: 0, right: 100, top: 0, bottom: 100 };
  const place = { left: 10, right: 40, top: 10, bottom: 20 };
  const line = (y: number) => [
    { x: -1e12, y },
    { x: 1e12, y },
  ];
  const placed = (y: number) =>
    placeLabels([{ places: [place], rank: 0 }], { area, taken: [], lines: [line(y)] });
  expect(placed(15)).toEqual([undefined]);
  expect(placed(50)).toEqual([place]);
});
