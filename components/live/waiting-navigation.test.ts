import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepNavigations, onWaitingNavigation, waitingNavigation } from "./waiting-navigation.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", { location: { href: "http://plimsoll.test/" } });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const RSC = { headers: { rsc: "1" } };
const page = (status = 200) => new Response("page", { status });

it("repeats a navigation until the server sends the page, and says what it waits for", async () => {
  const answers = [new TypeError("Failed to fetch"), page(503), page(502), page()];
  const load = vi.fn(async () => {
    const answer = answers.shift()!;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const seen: (string | null)[] = [];
  const stop = onWaitingNavigation(() => seen.push(waitingNavigation()));
  const loading = keepNavigations(load)("/sessions?range=1h&_rsc=abc", RSC);
  await vi.advanceTimersByTimeAsync(2_500);
  expect(waitingNavigation()).toBe("/sessions?range=1h");
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await loading).status).toBe(200);
  expect(load).toHaveBeenCalledTimes(4);
  expect(load).toHaveBeenCalledWith("/sessions?range=1h&_rsc=abc", expect.anything());
  expect(seen).toEqual(["/sessions?range=1h", null]);
  stop();
});

it("repeats an attempt that never gets an answer", async () => {
  let attempts = 0;
  const load = (_: unknown, init?: RequestInit) => {
    if (++attempts > 1) return Promise.resolve(page());
    return new Promise<Response>((_, reject) => {
      init!.signal!.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    });
  };
  const loading = keepNavigations(load)("/sessions", RSC);
  await vi.advanceTimersByTimeAsync(11_500);
  expect((await loading).status).toBe(200);
});

it("forgets a navigation that a newer one replaced", async () => {
  let up = false;
  const load = vi.fn(async () => {
    if (!up) throw new TypeError("Failed to fetch");
    return page();
  });
  const fetch = keepNavigations(load);
  const settled = vi.fn();
  void fetch("/sessions", RSC).then(settled, settled);
  await vi.advanceTimersByTimeAsync(500);
  const newer = fetch("/alerts", RSC);
  await vi.advanceTimersByTimeAsync(500);
  expect(waitingNavigation()).toBe("/alerts");
  up = true;
  await vi.advanceTimersByTimeAsync(3_000);
  expect((await newer).status).toBe(200);
  expect(settled).not.toHaveBeenCalled();
  expect(waitingNavigation()).toBeNull();
});

it.each<[what: string, init: RequestInit | undefined]>([
  ["a call of the API", { headers: { "content-type": "application/json" } }],
  ["a prefetch", { headers: { rsc: "1", "next-router-prefetch": "1" } }],
  ["a prefetch of a segment", { headers: { rsc: "1", "next-router-segment-prefetch": "/x" } }],
  ["a request without settings", undefined],
])("leaves %s alone", async (_, init) => {
  const load = vi.fn(async () => {
    throw new TypeError("Failed to fetch");
  });
  await expect(keepNavigations(load)("/api", init)).rejects.toThrow("Failed to fetch");
  expect(load).toHaveBeenCalledTimes(1);
});

it("passes on answers that are no outage, and an abort by the router", async () => {
  const load = vi.fn(async () => page(404));
  expect((await keepNavigations(load)("/nothing", RSC)).status).toBe(404);
  const abort = new AbortController();
  abort.abort();
  const failing = keepNavigations(async () => {
    throw new DOMException("", "AbortError");
  });
  await expect(failing("/sessions", { ...RSC, signal: abort.signal })).rejects.toThrow();
});
