import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashSecret, KEY_PATTERN, makeKey, makeLocalToken, makeToken, shapeOf } from "./key-format.ts";

describe("the format of a key", () => {
  it("has a prefix, an id, 256 random bits and a checksum", () => {
    const { secret, prefix, hash } = makeKey();
    expect(secret).toMatch(/^plim_[0-9A-Za-z]{7}_[0-9A-Za-z]{49}$/);
    expect(prefix).toBe(secret.slice(0, 12));
    expect(hash).toEqual(hashSecret(secret));
    expect(shapeOf(secret)).toBe("key");
    expect(makeKey().secret).not.toBe(secret);
  });

  it("is recognised whatever the random bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const random = (n: number) => bytes.subarray(0, n);
        expect(shapeOf(makeKey(random).secret)).toBe("key");
        expect(shapeOf(makeLocalToken(random))).toBe("local");
      }),
    );
  });

  it("tells a typing error in any one place", () => {
    const { secret } = makeKey();
    fc.assert(
      fc.property(
        fc.integer({ min: 5, max: secret.length - 1 }),
        fc.constantFrom(..."0aZ"),
        (place, letter) => {
          fc.pre(secret[place] !== letter);
          expect(shapeOf(secret.slice(0, place) + letter + secret.slice(place + 1))).toBe("mistyped");
        },
      ),
    );
    expect(shapeOf(secret.slice(0, -1))).toBe("mistyped");
    expect(shapeOf(`${secret}x`)).toBe("mistyped");
  });

  it("knows what was never a key of ours", () => {
    expect(shapeOf("sk-something")).toBe("foreign");
    expect(shapeOf("")).toBe("foreign");
  });

  it("cannot pass a key off as the local token", () => {
    const local = makeLocalToken();
    expect(shapeOf(local.replace("plim_local_", "plim_locak_"))).toBe("mistyped");
    expect(shapeOf(makeKey().secret.replace(/_.{7}_/, "_local_"))).toBe("mistyped");
  });

  it("is found in a text, even cut short", () => {
    const { secret } = makeKey();
    const text = `bearer ${secret}, and ${makeLocalToken().slice(0, 30)}`;
    expect(text.replace(KEY_PATTERN, "*")).toBe("bearer *, and *");
  });

  it("gives tokens that are safe in a URL", () => {
    expect(makeToken()).toMatch(/^[0-9A-Za-z]{43}$/);
  });
});
