import { expect, it } from "vitest";
import { DEMO_EXAMPLES } from "./demo.ts";
import { DEMO_HARNESSES } from "./demo-harnesses.ts";

it("names one harness for each example of the demo", () => {
  expect(DEMO_HARNESSES).toEqual(DEMO_EXAMPLES.map((name) => `${name}@demo`));
});
