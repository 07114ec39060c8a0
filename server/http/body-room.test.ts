import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlimsollError } from "../errors.ts";
import { BodyRoom } from "./body-room.ts";

describe("the room for bodies", () => {
  it("holds what all requests took and never more than its limit", () => {
    const step = fc.record({ request: fc.nat(4), bytes: fc.option(fc.nat(60), { nil: "leave" as const }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const room = new BodyRoom(100);
        const holds = Array.from({ length: 5 }, () => ({ hold: room.enter(), bytes: 0 }));
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
});
