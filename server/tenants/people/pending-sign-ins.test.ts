import { describe, expect, it } from "vitest";
import { createPendingSignIns, SIGN_IN_MS } from "./pending-sign-ins.ts";

const MOST = 10_000;
const signIn = (number: number) => ({ codeVerifier: `v${number}`, nonce: `n${number}`, returnTo: "/" });

describe("sign-ins that wait", () => {
  it("are 10,000 at most, and one more drops the oldest alone", () => {
    const pending = createPendingSignIns(() => 0);
    for (let number = 0; number <= MOST; number++) pending.add(`s${number}`, `b${number}`, signIn(number));
    expect(() => pending.take("s0", "b0")).toThrow("was already used");
    expect(pending.take("s1", "b1")).toMatchObject(signIn(1));
    // There is room for one again.
    pending.add("late", "late", signIn(-1));
    expect(pending.take("s2", "b2")).toMatchObject(signIn(2));
    expect(pending.take(`s${MOST}`, `b${MOST}`)).toMatchObject(signIn(MOST));
  });

  it("make room when their time is over, before any other is dropped", () => {
    let now = 0;
    const pending = createPendingSignIns<{ returnTo: string }>(() => now, 3);
    pending.add("old", "b", signIn(0));
    now = 1;
    for (const state of ["a", "b"]) pending.add(state, "b", signIn(1));
    now = SIGN_IN_MS;
    pending.add("c", "b", signIn(2));
    expect(() => pending.take("old", "b")).toThrow("took longer than 10 minutes");
    for (const state of ["a", "b", "c"]) expect(pending.take(state, "b").returnTo).toBe("/");
  });
});
