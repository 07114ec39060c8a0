import { expect, test, vi } from "vitest";
import { TurnCursor } from "./turn-cursor.ts";

test("followers hear of every move once, and of none that changes nothing", () => {
  const cursor = new TurnCursor();
  const heard = vi.fn();
  const stop = cursor.follow(heard);
  cursor.move(undefined, "chart");
  expect(heard).not.toHaveBeenCalled();
  cursor.move(3, "chart");
  cursor.move(3, "chart");
  expect(heard).toHaveBeenCalledTimes(1);
  expect(cursor.place).toEqual({ turn: 3, by: "chart" });
  cursor.move(3, "log");
  expect(cursor.place).toEqual({ turn: 3, by: "log" });
  cursor.move(undefined, "chart");
  expect([heard.mock.calls.length, cursor.place]).toEqual([3, undefined]);
  stop();
  cursor.move(5, "log");
  expect(heard).toHaveBeenCalledTimes(3);
});
