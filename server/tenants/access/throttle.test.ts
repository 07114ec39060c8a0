import { pino } from "pino";
import { expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { createThrottle } from "./throttle.ts";

it("tells a client with many failures to wait, until its minute is over, and no other client", () => {
  let now = 0;
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const throttle = createThrottle("keys", log, () => now);
  const failure = new PlimsollError("unauthenticated", "This key is unknown.");
  for (let n = 0; n < 30; n++) expect(throttle.failed("a", failure)).toBe(failure);
  now = 20_500;
  for (let n = 0; n < 1_500; n++) {
    expect(throttle.failed("a", failure)).toMatchObject({
      code: "quota_exceeded",
      message: expect.stringContaining("This key is unknown."),
      details: { retry_after_seconds: 40 },
    });
  }
  expect(lines).toHaveLength(1);
  expect(throttle.failed("b", failure)).toBe(failure);
  now = 60_000;
  expect(throttle.failed("a", failure)).toBe(failure);
});

it("remembers a bounded number of clients", () => {
  const throttle = createThrottle("keys", pino({ level: "silent" }), () => 0);
  const failure = new PlimsollError("unauthenticated", "no");
  for (let n = 0; n < 30; n++) throttle.failed("first", failure);
  for (let n = 0; n < 10_000; n++) throttle.failed(`client-${n}`, failure);
  expect(throttle.failed("first", failure)).toBe(failure);
});
