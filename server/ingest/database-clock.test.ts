import { expect, it } from "vitest";
import { DatabaseClock } from "./database-clock.ts";

it("is the local clock until the database has told its time, and then runs beside it", () => {
  let local = 1_000;
  const clock = new DatabaseClock(() => local);
  expect(clock.now()).toBe(1_000);
  clock.correct(500_000);
  expect(clock.now()).toBe(500_000);
  local += 250;
  expect(clock.now()).toBe(500_250);
  clock.correct(400);
  expect(clock.now()).toBe(400);
});
