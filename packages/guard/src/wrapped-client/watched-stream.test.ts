import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type StreamWatch, watchedResponse } from "./watched-stream.ts";

/** Cuts bytes at some places, also inside a character. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index]));
}

function responseOf(pieces: readonly Uint8Array[], failure?: Error): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) if (piece.length > 0) controller.enqueue(piece);
      if (failure === undefined) controller.close();
      else controller.error(failure);
    },
  });
  return new Response(body, { status: 203, headers: { "x-request-id": "r1" } });
}

function watcher() {
  const seen: unknown[] = [];
  let ends = 0;
  const watch: StreamWatch = {
    onChunk(chunk) {
      seen.push(chunk);
      return undefined;
    },
    onEnd: () => void ends++,
  };
  return { seen, watch, ends: () => ends };
}

describe("a watched response", () => {
  it("shows every event, wherever the network cuts it, and passes every byte", async () => {
    const line = fc.constantFrom("\n", "\r\n", "\r");
    const event = fc.record({ text: fc.string({ unit: "grapheme" }), n: fc.integer() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 8 }),
        line,
        fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 }),
        async (events, end, places) => {
          const text = events
            .map((one) => `event: message${end}data: ${JSON.stringify(one)}${end}${end}`)
            .join(`: a comment${end}`);
          const whole = `${text}data: [DONE]${end}${end}`;
          const { seen, watch, ends } = watcher();
          const response = watchedResponse(responseOf(cut(new TextEncoder().encode(whole), places)), watch);
          expect(await response.text()).toBe(whole);
          expect(seen).toEqual(events);
          expect(ends()).toBe(1);
        },
      ),
    );
  });

  it("keeps the status and the headers", () => {
    const { status, headers } = watchedResponse(responseOf([]), watcher().watch);
    expect([status, headers.get("x-request-id")]).toEqual([203, "r1"]);
  });

  it("ends its watch once when it fails or is cancelled", async () => {
    const failing = watcher();
    const failed = watchedResponse(responseOf([], new Error("lost")), failing.watch);
    await expect(failed.text()).rejects.toThrow("lost");
    expect(failing.ends()).toBe(1);

    const left = watcher();
    const reader = watchedResponse(responseOf([new Uint8Array(3)]), left.watch).body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(left.ends()).toBe(1);
  });

  it("has no body to watch if the response has none", () => {
    const empty = new Response(null, { status: 204 });
    expect(watchedResponse(empty, watcher().watch)).toBe(empty);
  });
});
