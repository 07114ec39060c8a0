import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { followStream, type StreamOptions } from "./follow-stream.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const EVENTS = { headers: { "content-type": "text/event-stream; charset=utf-8" } };
/** A stream that sends a text and ends. */
const short = (text = "") => new Response(text, EVENTS);
/** A stream that sends a text and then nothing, until it is aborted. */
const silent = (signal: AbortSignal, text = "") =>
  new Response(
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
    }),
    EVENTS,
  );
const refused = (status: number, headers: Record<string, string> = {}) =>
  new Response("no", { status, headers });

/** Follows a stream for an hour, and returns when it was opened, in seconds, and what was heard. */
async function followed(
  answer: (attempt: number, signal: AbortSignal) => Response | Promise<Response>,
  more: Partial<StreamOptions> = {},
) {
  const opened: number[] = [];
  const heard: unknown[] = [];
  const stop = new AbortController();
  const began = Date.now();
  const done = followStream({
    open: async ({ signal }) => {
      opened.push((Date.now() - began) / 1_000);
      return answer(opened.length, signal);
    },
    signal: stop.signal,
    timeoutMs: 10_000,
    silentMs: 120_000,
    backoff: { firstMs: 1_000, mostMs: 30_000 },
    refusedMs: 300_000,
    random: () => 0,
    clock: Date.now,
    onOpen: () => heard.push("open"),
    onMessages: (messages) => heard.push(...messages),
    onClose: (wasOpen) => heard.push(wasOpen ? "closed" : "not opened"),
    ...more,
  });
  await vi.advanceTimersByTimeAsync(3_600_000);
  stop.abort();
  await done;
  return { opened, heard };
}

describe("a stream of server-sent events", () => {
  it("reconnects with backoff, and resets the backoff after each stream that opened", async () => {
    const { opened, heard } = await followed(
      (attempt, signal) => {
        if (attempt === 3) return short("data: one\n\n");
        if (attempt < 6) return refused(503);
        return silent(signal, "data: two\n\ndata: not whole");
      },
      { silentMs: 1e7 },
    );
    expect(opened).toEqual([0, 1, 3, 4, 6, 10]);
    expect(heard).toEqual([
      ...["not opened", "not opened", "open", "one", "closed"],
      ...["not opened", "not opened", "open", "two", "closed"],
    ]);
  });

  it.each([
    ["a refused connection", () => Promise.reject(new TypeError("fetch failed"))],
    ["a page of HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["no content", () => new Response(null, { status: 204 })],
    ["an unknown path", () => refused(404)],
  ])("is tried for without end at the longest wait: %s", async (_, answer) => {
    const { opened, heard } = await followed(answer);
    expect(opened.slice(0, 8)).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    expect(opened.length).toBeGreaterThan(120);
    expect(new Set(heard)).toEqual(new Set(["not opened"]));
  });

  it("waits for as long as Retry-After says, and at most an hour", async () => {
    const { opened } = await followed((attempt) => refused(429, { "retry-after": String(attempt * 100) }));
    expect(opened.slice(0, 4)).toEqual([0, 100, 300, 600]);
    const { opened: patient } = await followed(() => refused(503, { "retry-after": "1e9" }));
    expect(patient.length).toBeGreaterThan(100);
    const { opened: greedy } = await followed(() => refused(503, { "retry-after": "999999999" }));
    expect(greedy).toEqual([0, 3_600]);
  });

  it.each([401, 403])("waits long after HTTP %i, because a person has to change the key", async (status) => {
    const { opened } = await followed(() => refused(status));
    expect(opened.slice(0, 3)).toEqual([0, 300, 600]);
  });

  it("is closed when it says nothing for too long", async () => {
    const { opened, heard } = await followed((_, signal) => silent(signal, "data: x\n\n"));
    expect(opened.slice(0, 3)).toEqual([0, 121, 242]);
    expect(heard.slice(0, 4)).toEqual(["open", "x", "closed", "open"]);
  });

  it("is given up if the answer does not begin", async () => {
    const { opened } = await followed(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    expect(opened.slice(0, 3)).toEqual([0, 11, 23]);
  });

  it("spreads the attempts of many followers", async () => {
    const { opened } = await followed(() => refused(503), { random: () => 1 });
    expect(opened.slice(0, 4)).toEqual([0, 0.5, 1.5, 3.5]);
  });
});
