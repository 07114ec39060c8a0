import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { plainMistake } from "./plain-mistake.ts";

const SCHEMA = z.strictObject({
  name: z.string().min(1).max(5),
  of: z.enum(["a", "b"]).optional(),
  kind: z.literal("x").optional(),
  size: z.number().int().gt(0).max(1_000_000).optional(),
  share: z.number().min(0.5).lt(2).optional(),
  on: z.boolean().optional(),
  list: z.array(z.string()).min(2).max(3).optional(),
  own: z.number().max(5, "write a fraction").optional(),
});
const messageOf = (value: unknown) =>
  SCHEMA.safeParse(value, { error: plainMistake }).error?.issues[0]?.message;

it.each<[unknown, string]>([
  [{}, "is missing"],
  [{ name: "" }, "must not be empty"],
  [{ name: "abcdef" }, "must have at most 5 characters"],
  [{ name: 5 }, "must be a text"],
  [{ name: "a", of: "c" }, "must be one of a, b"],
  [{ name: "a", kind: "y" }, "must be x"],
  [{ name: "a", size: 0 }, "must be more than 0"],
  [{ name: "a", size: 1.5 }, "must be a whole number"],
  [{ name: "a", size: "1" }, "must be a number"],
  [{ name: "a", size: Number.NaN }, "must be a number"],
  [{ name: "a", size: 2e6 }, "must be at most 1,000,000"],
  [{ name: "a", share: 0.25 }, "must be at least 0.5"],
  [{ name: "a", share: 2 }, "must be less than 2"],
  [{ name: "a", on: "on" }, "must be true or false"],
  [{ name: "a", list: ["b"] }, "must have at least 2 items"],
  [{ name: "a", list: {} }, "must be a list"],
  [{ name: "a", own: 6 }, "write a fraction"],
  [[], "must be a group of fields"],
])("%j: %s", (value, message) => expect(messageOf(value)).toBe(message));

it("has a sentence for anything", () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.record({ name: fc.anything(), of: fc.anything() })), (value) => {
      const read = SCHEMA.safeParse(value, { error: plainMistake });
      for (const { message } of read.error?.issues ?? []) expect(message).toMatch(/\w/);
    }),
  );
});
