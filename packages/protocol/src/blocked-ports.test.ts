import { expect, it } from "vitest";
import { isBlockedPort } from "./blocked-ports.ts";

/** Beyond the highest blocked port. */
const MOST = 11_000;
const REACHED = "the request got past the check of its port";
const dispatcher = {
  dispatch(_: unknown, handler: { onError(error: Error): void }) {
    handler.onError(new Error(REACHED));
    return true;
  },
};

it("blocks what Node's fetch blocks, and nothing else", async () => {
  const wrong: number[] = [];
  for (let port = 1; port <= MOST; port += 1) {
    const init = { dispatcher } as unknown as RequestInit;
    const error: unknown = await fetch(`http://localhost:${port}/`, init).catch(
      (thrown: Error) => thrown.cause,
    );
    const isBlocked = error instanceof Error && error.message === "bad port";
    if (isBlocked !== isBlockedPort(port)) wrong.push(port);
  }
  expect(wrong).toEqual([]);
});

it("takes any port that a system gives", () => {
  expect([0, 80, 443, 4180, 8080, 8443, 32_768, 65_535].some(isBlockedPort)).toBe(false);
});
