import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addChanges, type Changes, decodeNotice, encodeChanges, NAMED_SESSIONS } from "./coalesce.ts";

const uuids = (count: number) => Array.from({ length: count }, () => randomUUID());

describe("coalescing changes", () => {
  it("names each session once", () => {
    const changes: Changes = new Map();
    addChanges(changes, 1, ["a", "b"]);
    addChanges(changes, 1, ["b", "c"]);
    addChanges(changes, 2, ["a"]);
    expect(changes).toEqual(
      new Map([
        [1, new Set(["a", "b", "c"])],
        [2, new Set(["a"])],
      ]),
    );
  });

  it("stops naming when there are too many, and stays so", () => {
    const changes: Changes = new Map();
    addChanges(changes, 1, uuids(NAMED_SESSIONS));
    expect(changes.get(1)?.size).toBe(NAMED_SESSIONS);
    addChanges(changes, 1, ["one more"]);
    addChanges(changes, 1, ["another"]);
    expect(changes.get(1)).toBeNull();
  });
});

describe("a notice", () => {
  it("comes back as it was sent", () => {
    const [a, b] = uuids(2) as [string, string];
    const text = encodeChanges(
      "me",
      new Map([
        [1, new Set([a, b])],
        [2, null],
      ]),
    );
    expect(decodeNotice(text)).toEqual({
      from: "me",
      changes: [
        [1, [a, b]],
        [2, null],
      ],
    });
    expect(decodeNotice('{"from":"me","ended":"ab"}')).toEqual({ from: "me", ended: "ab" });
    expect(decodeNotice('{"from":"me","projects":true}')).toEqual({ from: "me", projects: true });
  });

  it("names a full project's sessions within one payload", () => {
    const text = encodeChanges(randomUUID(), new Map([[1, new Set(uuids(NAMED_SESSIONS))]]));
    expect(decodeNotice(text)).toMatchObject({ changes: [[1, { length: NAMED_SESSIONS }]] });
  });

  it("always fits, and never leaves a changed project out", () => {
    const change = fc.tuple(fc.integer({ min: 1, max: 2_147_483_647 }), fc.nat(NAMED_SESSIONS));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 2_000 }), (projects) => {
        const changes: Changes = new Map(projects.map(([id, count]) => [id, new Set(uuids(count))]));
        const text = encodeChanges(randomUUID(), changes);
        expect(Buffer.byteLength(text)).toBeLessThan(8_000);
        const notice = decodeNotice(text)!;
        if ("changes" in notice) expect(notice.changes.map(([id]) => id)).toEqual([...changes.keys()]);
        else expect(notice).toHaveProperty("everything", true);
      }),
      { numRuns: 30 },
    );
  });

  it.each(["", "{", "null", "7", '{"from":1}', '{"from":"x"}', '{"from":"x","changes":[["1",null]]}'])(
    "is not read into %j",
    (text) => expect(decodeNotice(text)).toBeUndefined(),
  );
});
