import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { SecretBox } from "../../secret-box.ts";
import { createPendingSignIns, ownPath, SIGN_IN_MS } from "./pending-sign-ins.ts";

const BOX = new SecretBox("a secret that all servers have, of 32 and more bytes");
let time = 0;
let ended = new Set<string>();
beforeEach(() => {
  time = 0;
  ended = new Set();
});

const signIns = (box = BOX, kind = "kind") => {
  const endOnce = async (state: string) => ended.size < ended.add(state).size;
  return createPendingSignIns<{ returnTo: string }>(kind, { box, endOnce }, () => time);
};

describe("a sign-in that waits", () => {
  it.each([1, SIGN_IN_MS, 2 * SIGN_IN_MS - 1])(
    "is ended by any server with the same secret at %i",
    async (at) => {
      time = SIGN_IN_MS;
      const state = signIns().seal("b", { returnTo: "/" });
      time = at;
      expect(await signIns().take(state, "b")).toMatchObject({ returnTo: "/" });
    },
  );

  it.each([0, 2 * SIGN_IN_MS])("is too old or too new at %i", async (at) => {
    time = SIGN_IN_MS;
    const state = signIns().seal("b", { returnTo: "/" });
    time = at;
    await expect(signIns().take(state, "b")).rejects.toThrow("longer than 10 minutes");
  });

  it("works once, however it is written", async () => {
    // 2 bits of the last character say nothing.
    const state = signIns().seal("b", { returnTo: "/..".repeat(33) });
    expect(state.length % 4).toBe(3);
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".indexOf(state.at(-1)!);
    const others = ["=", " ", "\n"].map((more) => state + more);
    for (const bits of [1, 2, 3])
      others.push(
        state.slice(0, -1) +
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(last & ~3) | bits],
      );
    await signIns().take(state, "b");
    for (const other of [state, ...others])
      await expect(signIns().take(other, "b")).rejects.toThrow("already used");
  });

  it("is not ended in another browser, as another kind, or by a server with another secret, and then waits on", async () => {
    const state = signIns().seal("b", { returnTo: "/" });
    for (const binding of [undefined, "", "c"])
      await expect(signIns().take(state, binding)).rejects.toThrow("another browser");
    await expect(signIns(BOX, "other").take(state, "b")).rejects.toThrow("did not begin");
    const other = signIns(new SecretBox("x".repeat(32)));
    await expect(other.take(state, "b")).rejects.toThrow("another PLIMSOLL_SECRET");
    await expect(signIns().take(null, "b")).rejects.toThrow("did not begin");
    await signIns().take(state, "b");
  });

  it("shows nothing of itself, and no change of it is accepted", async () => {
    const sealed = signIns().seal("the binding", { returnTo: "/the/path" });
    expect(sealed).toMatch(/^[\w-]+$/);
    const bytes = Buffer.from(sealed, "base64url");
    expect(bytes.toString("latin1")).not.toMatch(/path|binding/);
    const refused = async (state: string) => {
      await expect(signIns().take(state, "the binding")).rejects.toThrow("did not begin");
    };
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at]! ^= change;
        for (const broken of [changed, bytes.subarray(0, at)]) await refused(broken.toString("base64url"));
      }),
    );
    await fc.assert(fc.asyncProperty(fc.string(), refused));
  });
});

it("a path to return to is short enough for the address of a provider", () => {
  expect(ownPath(`/${"a".repeat(999)}`)).toHaveLength(1_000);
  expect(ownPath(`/${"a".repeat(1_000)}`)).toBe("/");
});
