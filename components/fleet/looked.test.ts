import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { awaySince, lookingAt, parseLooks, withLook } from "./looked.ts";

const HOUR = 3_600;
const NOW = 1_795_000_000;

describe("the digest since somebody looked", () => {
  it.each([
    ["no digest on the first visit", undefined, undefined],
    ["no digest after a reload", { seen: NOW - 60, away: undefined }, undefined],
    ["a digest after a night", { seen: NOW - 8 * HOUR, away: undefined }, NOW - 8 * HOUR],
    ["the digest stays until it is read", { seen: NOW - 60, away: NOW - 8 * HOUR }, NOW - 8 * HOUR],
    [
      "the digest begins with the first absence",
      { seen: NOW - 2 * HOUR, away: NOW - 9 * HOUR },
      NOW - 9 * HOUR,
    ],
    ["the digest covers 30 days at most", { seen: NOW - 9_000 * HOUR, away: undefined }, NOW - 720 * HOUR],
    ["no digest by a clock that was ahead", { seen: NOW + 8 * HOUR, away: NOW + HOUR }, undefined],
  ])("%s", (_, look, since) => {
    expect(awaySince(look, NOW)).toBe(since);
  });

  it("stays while the page is open, and is over once it is read", () => {
    let look = lookingAt({ seen: NOW - 8 * HOUR, away: undefined }, NOW);
    for (let minute = 1; minute < 30; minute += 1) look = lookingAt(look, NOW + minute * 60);
    expect(awaySince(look, NOW + 1_800)).toBe(NOW - 8 * HOUR);
    expect(awaySince({ seen: NOW + 1_800, away: undefined }, NOW + 1_860)).toBeUndefined();
  });

  const look = fc.record({ seen: fc.nat(NOW), away: fc.option(fc.nat(NOW), { nil: undefined }) });

  it("is remembered of the latest ten projects", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.stringMatching(/^[0-9a-z]{1,7}$/), look), { maxLength: 15 }),
        (all) => {
          let cookie = "";
          for (const [project, one] of all) cookie = withLook(parseLooks(cookie), project, one);
          const latest = new Map<string, unknown>();
          for (const [project, one] of all) {
            latest.delete(project);
            latest.set(project, one);
          }
          expect([...parseLooks(cookie)]).toEqual([...latest].slice(-10));
        },
      ),
    );
  });

  it("is not known from a cookie that somebody else wrote", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const { seen } of parseLooks(text).values()) expect(seen).toBeGreaterThanOrEqual(0);
      }),
    );
    expect([...parseLooks("abc.12.x_.1._zz.99999999999999")]).toEqual([]);
  });
});
