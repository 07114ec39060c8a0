import fc from "fast-check";
import { expect, test } from "vitest";
import { addDismissed, fingerprint, parseDismissed } from "./dismissals.ts";

test("a cookie keeps the latest notices, each once", () => {
  const notice = fc.array(fc.string().map(fingerprint), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(notice, { minLength: 1, maxLength: 20 }), (notices) => {
      const cookie = notices.reduce((text, marks) => addDismissed(parseDismissed(text), marks), "");
      const kept = parseDismissed(cookie);
      expect(kept).toEqual(expect.arrayContaining(notices.at(-1)!));
      expect(new Set(kept).size).toBe(kept.length);
      expect(cookie.length).toBeLessThan(500);
    }),
  );
});

test("a cookie that somebody else wrote is no notice", () => {
  expect(parseDismissed(null)).toEqual([]);
  expect(parseDismissed("")).toEqual([]);
  expect(parseDismissed("a1..<b>.c d.zzzzzzzzzzzz.9k")).toEqual(["a1", "9k"]);
});

test("another text is another notice", () => {
  expect(fingerprint("gpt-5 128000")).not.toBe(fingerprint("gpt-5 400000"));
  expect(fingerprint("")).toMatch(/^[0-9a-z]{1,7}$/);
});
