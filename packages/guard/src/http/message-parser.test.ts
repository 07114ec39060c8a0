import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageParser } from "./message-parser.ts";

const stream =
  ': hello\r\nretry: 2000\n\nid: 1\nevent: message\ndata: {"a":\ndata: 1}\r\n\r\ndata:x\n\ndata\r\rdatum: y\n\nevent: ping\n\n';
const MEBIBYTE = 1_048_576;

describe("messageParser", () => {
  it("returns the same messages for any chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
        const parse = messageParser();
        const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const messages = at.slice(1).flatMap((end, index) => parse(stream.slice(at[index], end)));
        expect(messages).toEqual(['{"a":\n1}', "x", ""]);
      }),
    );
  });

  it.each([
    ["one line", `data: ${"x".repeat(5 * MEBIBYTE)}\n`],
    ["many lines", `data: ${"x".repeat(1_000)}\n`.repeat(5_000)],
    ["a line of another field before its data", `id: ${"x".repeat(5 * MEBIBYTE)}\ndata: x\n`],
  ])("leaves out a message that is too long, and goes on after it: %s", (_, long) => {
    const parse = messageParser();
    const text = `${long}\ndata: next\n\n`;
    const messages = [];
    for (let at = 0; at < text.length; at += 65_536) messages.push(...parse(text.slice(at, at + 65_536)));
    expect(messages).toEqual(["next"]);
  });

  it("reads a long line that comes in single characters", () => {
    const parse = messageParser();
    const messages = [..."data: ", ..."x".repeat(MEBIBYTE), "\n\n"].flatMap(parse);
    expect(messages).toEqual(["x".repeat(MEBIBYTE)]);
  });
});
