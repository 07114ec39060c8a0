import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventParser } from "./message-parser.ts";

const stream =
  ': hello\r\nretry: 2000\n\nid: 1\nevent: message\ndata: {"a":\ndata: 1}\r\n\r\ndata:x\n\nevent: ping\n\n';

describe("eventParser", () => {
  it("returns the same events for any chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
        const parse = eventParser();
        const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const events = at.slice(1).flatMap((end, index) => parse(stream.slice(at[index], end)));
        expect(events).toEqual([
          { event: "message", data: '{"a":\n1}' },
          { event: "message", data: "x" },
        ]);
      }),
    );
  });
});
