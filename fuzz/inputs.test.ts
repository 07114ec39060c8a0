import { FORMATS } from "@plimsoll/harnesses/recordings";
import { expect, it } from "vitest";
import { bodyInputs } from "./bodies.ts";
import { queryInputs } from "./queries.ts";
import { SEEDS } from "./recording-seeds.ts";
import { recordingAt } from "./recordings.ts";
import { telemetryInputs } from "./telemetry.ts";

const NOW = Date.UTC(2026, 10, 20);
const IDS = ["019a0000-0000-7000-8000-00000000000a"];

const makers: [target: string, make: (seed: number) => (index: number) => unknown][] = [
  ["bodies", (seed) => bodyInputs(seed, NOW, [])],
  ["telemetry", (seed) => telemetryInputs(seed, NOW, [])],
  ["queries", (seed) => queryInputs(seed, NOW, IDS, [])],
  ["recordings", (seed) => (index) => recordingAt(seed, index, [])],
];

it.each(makers)("a seed makes the same %s again, in any order, and another seed others", (_, make) => {
  const indexes = Array.from({ length: 300 }, (_, index) => index);
  const first = indexes.map(make(7));
  const again = indexes.toReversed().map(make(7)).toReversed();
  expect(again).toEqual(first);
  expect(new Set(first.map((input) => JSON.stringify(input))).size).toBeGreaterThan(150);
  expect(indexes.map(make(8))).not.toEqual(first);
});

it("has a recording of each format", () => {
  expect(new Set(SEEDS.map(({ format }) => format))).toEqual(new Set(FORMATS));
});

it("sends policies and rules as YAML, too", () => {
  const inputAt = queryInputs(7, NOW, IDS, []);
  const sent = Array.from({ length: 100_000 }, (_, index) => inputAt(index)).filter(
    ({ method, path, body }) =>
      method === "PUT" && path.startsWith("/api/v1/policy") && /"policy":"/.test(body.toString()),
  );
  expect(sent.length).toBeGreaterThan(20);
});
