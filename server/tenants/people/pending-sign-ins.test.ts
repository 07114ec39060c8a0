import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SecretBox } from "../../secret-box.ts";
import { createPendingSignIns, ownPath, SIGN_IN_MS } from "./pending-sign-ins.ts";

const BOX = new SecretBox("a secret that all servers have, of 32 and more bytes");
let time = 0;
const signIns = (box = BOX, kind = "kind") =>
  createPendingSignIns<{ returnTo: string }>(kind, box, () => time);

describe("a sign-in that waits", () => {
  it("is opened by any server with the same secret, in its browser, for 10 minutes before and after", () => {
    time = SIGN_IN_MS;
    const state = signIns().seal("b", { returnTo: "/" });
    for (const at of [1, SIGN_IN_MS, 2 * SIGN_IN_MS - 1]) {
      time = at;
      expect(signIns().open(state, "b")).toMatchObject({ returnTo: "/", beganAt: SIGN_IN_MS });
    }
    for (const at of [0, 2 * SIGN_IN_MS]) {
      time = at;
      expect(() => signIns().open(state, "b")).toThrow("longer than 10 minutes");
    }
  });

  it("is not opened in another browser, as another kind, or by a server with another secret", () => {
    const state = signIns().seal("b", { returnTo: "/" });
    for (const binding of [undefined, "", "c"])
      expect(() => signIns().open(state, binding)).toThrow("another browser");
    expect(() => signIns(BOX, "other").open(state, "b")).toThrow("did not begin");
    expect(() => signIns(new SecretBox("x".repeat(32))).open(state, "b")).toThrow("another PLIMSOLL_SECRET");
    expect(() => signIns().open(null, "b")).toThrow("did not begin");
  });

  it("shows nothing of itself, and no change of it is accepted", () => {
    const sealed = signIns().seal("the binding", { returnTo: "/the/path" });
    expect(sealed).toMatch(/^[\w-]+$/);
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toMatch(/path|binding/);
    const bytes = Buffer.from(sealed, "base64url");
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at]! ^= change;
        for (const broken of [changed, bytes.subarray(0, at)])
          expect(() => signIns().open(broken.toString("base64url"), "the binding")).toThrow("did not begin");
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => signIns().open(text, "the binding")).toThrow("did not begin");
      }),
    );
  });
});

it("a path to return to is short enough for the address of a provider", () => {
  expect(ownPath(`/${"a".repeat(999)}`)).toHaveLength(1_000);
  expect(ownPath(`/${"a".repeat(1_000)}`)).toBe("/");
});
