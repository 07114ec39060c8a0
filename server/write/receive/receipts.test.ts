import { expect, it } from "vitest";
import { Receipts } from "./receipts.ts";

const rejection = (index: number) => ({
  index,
  id: null,
  code: "in_the_future",
  path: "at",
  message: `m${index}`,
});

it("counts for each key, and keeps the newest rejections", () => {
  let now = 1_000;
  const receipts = new Receipts(() => now);
  expect(receipts.of("a")).toMatchObject({ accepted: 0, last_request_at: null, last_event_at: null });
  receipts.note("a", { events: [1, 2], rejected: [] });
  now = 2_000;
  receipts.note("a", { events: [], rejected: Array.from({ length: 7 }, (_, n) => rejection(n)) as never });
  receipts.note("b", { events: [1], rejected: [] });
  receipts.note(undefined, { events: [1], rejected: [] });
  expect(receipts.of("a")).toEqual({
    since: "1970-01-01T00:00:01.000Z",
    accepted: 2,
    rejected: 7,
    last_request_at: "1970-01-01T00:00:02.000Z",
    last_event_at: "1970-01-01T00:00:01.000Z",
    last_rejections: [6, 5, 4, 3, 2].map((n) => ({ code: "in_the_future", path: "at", message: `m${n}` })),
  });
  expect(receipts.of("b").accepted).toBe(1);
  expect(receipts.of(undefined).accepted).toBe(0);
});

it("forgets the key that was silent longest", () => {
  const receipts = new Receipts(() => 0);
  for (let key = 0; key < 1_001; key += 1) receipts.note(`k${key}`, { events: [1], rejected: [] });
  expect(receipts.of("k0").accepted).toBe(0);
  expect(receipts.of("k1").accepted).toBe(1);
});
