import { expect, it } from "vitest";
import { recomputingText } from "./recomputing-text.ts";

it("counts the agents whose recorded turns do not use the new size yet", () => {
  expect(recomputingText(1)).toBe("1 agent is still to be recomputed with the new size.");
  expect(recomputingText(1_200)).toBe("1,200 agents are still to be recomputed with the new size.");
});
