import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FallUnpacker, packFalls, type StoredFall } from "./packed-falls.ts";

const count = fc.nat(2 ** 31 - 1);
const maybe = fc.option(count, { nil: undefined });
const model = fc.constantFrom("claude-opus-4-6", "modèle", "m");
const survivals = fc.option(fc.record({ verbatim: count, near: count, absent: count }), { nil: undefined });

const anyFall: fc.Arbitrary<StoredFall> = fc.record({
  // PostgreSQL stores no NUL.
  id: fc.string({ unit: "grapheme" }).filter((id) => !id.includes("\0")),
  type: fc.constantFrom(...BOUNDARY_TYPES),
  at: fc.integer({ min: 0, max: 4_102_444_800_000 }),
  before: maybe,
  after: maybe,
  fall: fc.record(
    {
      ...{ turns: count, refill: maybe, model, read: maybe, hour: count },
      summary: fc.option(
        fc.record(
          {
            model,
            ...{
              calls: count,
              prompt: count,
              fresh: count,
              read: count,
              written: count,
              hour: count,
              output: count,
            },
          },
          { requiredKeys: ["model", "calls", "prompt", "fresh", "read", "written", "output"] },
        ),
        { nil: undefined },
      ),
      survived: fc.record({ rule: survivals, prompt: survivals, file: survivals }),
    },
    { requiredKeys: ["turns", "refill", "model", "read", "summary"] },
  ),
});
const anySince = fc.option(fc.record({ turns: count, refill: maybe }), { nil: undefined });

it("packed falls are unpacked as they were", () => {
  const unpacker = new FallUnpacker();
  fc.assert(
    fc.property(fc.array(anyFall, { minLength: 1, maxLength: 6 }), anySince, (falls, since) => {
      expect(unpacker.unpack(packFalls({ falls, since }))).toEqual({ falls, since });
    }),
  );
});

it("no falls take no bytes", () => {
  const packed = packFalls({ falls: [], since: { turns: 3, refill: undefined } });
  expect(packed).toHaveLength(0);
  expect(new FallUnpacker().unpack(packed)).toEqual({ falls: [], since: undefined });
});

it("bytes of another format, and bytes that end too early, are refused", () => {
  const fall = { ...{ turns: 1, refill: 2, read: 3 }, model: "m", summary: undefined };
  const falls = [{ id: "a", type: "masked" as const, at: 5, before: 9, after: 4, fall }];
  const packed = packFalls({ falls, since: undefined });
  expect(() => new FallUnpacker().unpack(Buffer.from([9]))).toThrow(RangeError);
  for (let length = 1; length < packed.length; length++)
    expect(() => new FallUnpacker().unpack(packed.subarray(0, length))).toThrow(RangeError);
});
