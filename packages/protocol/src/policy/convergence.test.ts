import { expect, it } from "vitest";
import { convergenceOf, type SaidOfPolicy } from "./convergence.ts";

const desired = { generation: 3, hash: "h3" };
const said = (
  status: SaidOfPolicy["status"],
  at: number,
  more: Partial<SaidOfPolicy> = {},
): SaidOfPolicy => ({
  id: `${status}-${at}`,
  at,
  status,
  ...desired,
  ...more,
});

it.each<[what: string, said: SaidOfPolicy[], state: string]>([
  ["what was written", [said("received", 1), said("written", 2)], "written"],
  ["what was shown at the same time as it was written", [said("applied", 1), said("written", 1)], "applied"],
  [
    "what was written at the same time as it was received",
    [said("written", 1), said("received", 1)],
    "written",
  ],
  ["what somebody edited since", [said("written", 1), said("overridden", 2, { code: "drifted" })], "drifted"],
  ["another version, which was written", [said("written", 1, { generation: 2, hash: "h2" })], "waiting"],
])("the state is that of %s", (_, all, state) => {
  for (const order of [all, all.toReversed()])
    expect(convergenceOf(desired, order, { capabilities: ["policy"] })).toBe(state);
});

it("says so if other settings were written than were saved", () => {
  const asked = { capabilities: [], isKnown: () => false };
  expect(convergenceOf(desired, [said("written", 1)], asked)).toBe("mismatched");
  expect(convergenceOf(desired, [said("received", 1)], asked)).toBe("received");
});
