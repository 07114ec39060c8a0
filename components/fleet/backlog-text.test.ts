import { expect, it } from "vitest";
import { backlogText } from "./backlog-text.ts";

it("counts the events that the numbers do not include yet", () => {
  expect(backlogText(1)).toBe("1 event is still being processed");
  expect(backlogText(1_200)).toBe("1,200 events are still being processed");
});
