import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlimsollError } from "../errors.ts";
import { BodyRoom, LARGEST_REQUEST } from "./body-room.ts";

describe("the room for bodies", () => {
  it("holds what all requests took and never more than its limit", () => {
    const step = fc.record({ request: fc.nat(4), bytes: fc.option(fc.nat(60), { nil: "leave" as const }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const room = new BodyRoom(100);
        const holds = Array.from({ length: 5 }, () => ({ hold: room.enter(1), bytes: 0 }));
        for (const { request, bytes } of steps) {
          const one = holds[request]!;
          const before = room.held;
          if (bytes === "leave") {
            one.hold.leave();
            one.bytes = 0;
          } else if (before + bytes <= 100) {
            one.hold.take(bytes);
            one.bytes += bytes;
          } else {
            expect(() => one.hold.take(bytes)).toThrow(PlimsollError);
          }
          expect(room.held).toBe(holds.reduce((sum, { bytes }) => sum + bytes, 0));
        }
      }),
    );
  });

  it("gives one project at most half, and the other projects the rest", () => {
    const room = new BodyRoom(4 * LARGEST_REQUEST);
    const half = 2 * LARGEST_REQUEST;
    const hostile = room.enter(1);
    hostile.take(half);
    expect(() => room.enter(1).take(1)).toThrow(/requests of this project/);
    const other = room.enter(2);
    other.take(half);
    expect(() => room.enter(3).take(1)).toThrow(/requests under way/);
    hostile.leave();
    hostile.take(half);
    other.leave();
    hostile.leave();
    expect(room.held).toBe(0);
  });

  it("has room for the largest request of a project, however small it is", () => {
    const room = new BodyRoom(LARGEST_REQUEST);
    room.enter(1).take(LARGEST_REQUEST);
    expect(() => room.enter(1).take(1)).toThrow(PlimsollError);
  });
});
