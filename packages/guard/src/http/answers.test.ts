import { describe, expect, it } from "vitest";
import { generationIn, refusalOf, retryAfter, textOf } from "./answers.ts";

/** An answer that sends a piece whenever it is read, without end. */
function endless(piece: string): { response: Response; sent: () => number } {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += piece.length;
      controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  return { response: new Response(body, { status: 502 }), sent: () => sent };
}

describe("the body of an answer", () => {
  it("is read to its end if it is short", async () => {
    expect(await textOf(new Response("früh"), 10)).toBe("früh");
    expect(await textOf(new Response(null), 10)).toBe("");
  });

  it("is not read to its end if it has none", async () => {
    const { response, sent } = endless("x".repeat(1_000));
    expect((await refusalOf(response)).text).toBe("x".repeat(10_000));
    expect(sent()).toBeLessThan(100_000);
  });

  it("of a refusal that breaks off is as good as none", async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error("reset")) });
    expect(await refusalOf(new Response(body, { status: 500 }))).toEqual({ status: 500, text: "" });
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 10, 20);
  it.each([
    [undefined, undefined],
    ["2", 2_000],
    ["0", 0],
    [" 1.5 ", 1_500],
    [new Date(now + 5_000).toUTCString(), 5_000],
    [new Date(now - 5_000).toUTCString(), 0],
    ["soon", undefined],
    ["-1", 0],
    ["", undefined],
  ])("%j is %j ms", (header, expected) => {
    const headers: Record<string, string> = header === undefined ? {} : { "retry-after": header };
    expect(retryAfter(new Response(null, { headers }), now)).toBe(expected);
  });
});

it.each([
  ["12", 12],
  ["", undefined],
  ["1e3", undefined],
  ["-1", undefined],
  ["9".repeat(16), undefined],
])("the generation in the header %j is %j", (text, expected) => {
  expect(generationIn(new Headers({ "plimsoll-policy-generation": text }))).toBe(expected);
});
