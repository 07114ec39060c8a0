import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createReader } from "../recordings.ts";
import { foldEvents, json, levels } from "../testing/fold.ts";

const SESSION = "11111111-1111-4111-8111-111111111111";
const said = (second: number, input_tokens: number, text = "done") => ({
  ...{ type: "assistant", uuid: `u-${second}`, sessionId: SESSION, isSidechain: false },
  timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
  message: {
    ...{ id: `m-${second}`, model: "claude-opus-5", usage: { input_tokens, output_tokens: 1 } },
    content: [{ type: "text", text }],
  },
});
const [first, second, third] = json(
  said(1, 100),
  said(2, 200, 'a brace { and {"type":"text"} in a text'),
  said(3, 300),
) as [string, string, string];

function read(...lines: string[]) {
  const reader = createReader("claude-code", { harness: "claude-code@host", titles: false });
  for (const line of lines) reader.read(line, { path: `p/${SESSION}.jsonl` });
  const { events, skipped } = reader.take(true);
  return { levels: levels(foldEvents(events).get(`${SESSION} main`)), skipped };
}

describe("lines without an end between them", () => {
  it("are read one by one", () => {
    expect(read(first, second + third).levels).toEqual([100, 200, 300]);
    expect(read(first + second + third).levels).toEqual([100, 200, 300]);
  });

  it("keep the line after one that was cut off anywhere but before a value", () => {
    const cuts = [...second].flatMap((character, at) => (/[:[,\s]/.test(character) ? [] : [at + 1]));
    fc.assert(
      fc.property(fc.constantFrom(...cuts.slice(0, -1)), (cut) => {
        const cutOff = read(first, second.slice(0, cut) + third);
        expect(cutOff.levels).toEqual([100, 300]);
        expect(cutOff.skipped.unreadable).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });

  it("are none in a line that is whole, whatever its texts hold", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(read(...json(said(1, 100, text), said(2, 200, `x${text}y`))).levels).toEqual([100, 200]);
      }),
    );
  });
});
