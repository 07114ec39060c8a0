import { describe, expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { eventQuota, readQuota, refilled } from "./quota.ts";

describe("the quota of a key", () => {
  it("starts full and refills evenly up to ten seconds' worth", () => {
    expect(refilled(undefined, 100, 5_000)).toEqual({ left: 1_000, at: 5_000 });
    expect(refilled({ left: 0, at: 5_000 }, 100, 5_500)).toEqual({ left: 50, at: 5_500 });
    expect(refilled({ left: 990, at: 0 }, 100, 60_000)).toEqual({ left: 1_000, at: 60_000 });
  });

  it("refuses what exceeds it, says when to come back, and takes nothing then", () => {
    let now = 0;
    const quota = eventQuota(10, () => now);
    quota.take("a", 100);
    let refusal: unknown;
    try {
      quota.take("a", 30);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(PlimsollError);
    expect(refusal).toMatchObject({
      code: "quota_exceeded",
      status: 429,
      details: { retry_after_seconds: 3 },
    });
    now = 3_000;
    expect(() => quota.take("a", 30)).not.toThrow();
  });

  it("keeps keys apart, and lets a batch larger than the burst through when full", () => {
    const quota = eventQuota(10, () => 0);
    quota.take("a", 5_000);
    expect(() => quota.take("a", 1)).toThrow();
    expect(() => quota.take("b", 1)).not.toThrow();
  });

  it("lets a batch larger than the burst wait for a full allowance, and no longer", () => {
    let now = 0;
    const quota = eventQuota(10, () => now);
    quota.take("a", 100);
    expect(() => quota.take("a", 5_000)).toThrow("send again after 10 s");
    now = 10_000;
    expect(() => quota.take("a", 5_000)).not.toThrow();
  });

  it("takes work that was done in vain, and admits nobody in debt", () => {
    let now = 0;
    const quota = eventQuota(10, () => now);
    quota.admit("a");
    quota.charge("a", 150);
    expect(() => quota.admit("a")).toThrow("send again after 5 s");
    expect(() => quota.admit("b")).not.toThrow();
    now = 5_100;
    expect(() => quota.admit("a")).not.toThrow();
  });

  it("admits nobody until the batch that it refused fits, so that a sender who does not wait gets through, too", () => {
    let now = 0;
    const quota = eventQuota(10, () => now);
    quota.take("a", 60);
    expect(() => quota.take("a", 50)).toThrow("send again after 1 s");
    for (; now < 1_000; now += 25) expect(() => quota.admit("a")).toThrow("send again");
    quota.admit("a");
    quota.take("a", 50);
    expect(() => quota.take("a", 1)).toThrow();
  });

  it("is no bound at 0, nor for a person", () => {
    const unbounded = eventQuota(0, () => 0);
    for (let i = 0; i < 100; i++) unbounded.take("a", 10_000);
    unbounded.charge("a", 10_000);
    unbounded.admit("a");
    const quota = readQuota(1, () => 0);
    for (let i = 0; i < 100; i++) quota.take(undefined, 1);
  });

  it("of reads says that they are calls", () => {
    const quota = readQuota(2, () => 0);
    for (let i = 0; i < 20; i++) quota.take("a", 1);
    expect(() => quota.take("a", 1)).toThrow("This key may make 2 calls a second. Try again after 1 s.");
  });
});
