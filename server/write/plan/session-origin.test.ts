import fc from "fast-check";
import { expect, it } from "vitest";
import { mergeOrigins, NO_ORIGIN, type SessionOrigin } from "./session-origin.ts";

const at = fc.integer({ min: 0, max: 3 });
const name = fc.constantFrom("a", "b", undefined);
const anyOrigin: fc.Arbitrary<SessionOrigin> = fc
  .record({ at, machine: name, repository: name, branch: name, personId: name })
  .map(({ at, machine, repository, branch, personId }) => ({
    machine,
    machineAt: machine === undefined ? undefined : at,
    repository,
    branch,
    repositoryAt: repository === undefined && branch === undefined ? undefined : at,
    personId,
    personAt: personId === undefined ? undefined : at,
  }));

it("is the same in any order and batching, and with repeats", () => {
  fc.assert(
    fc.property(fc.array(anyOrigin, { minLength: 1, maxLength: 6 }), fc.nat(6), (origins, cut) => {
      const merged = (list: readonly SessionOrigin[]) => list.reduce(mergeOrigins, NO_ORIGIN);
      const expected = merged(origins);
      expect(merged([...origins].reverse())).toEqual(expected);
      expect(merged([...origins, ...origins])).toEqual(expected);
      expect(mergeOrigins(merged(origins.slice(cut)), merged(origins.slice(0, cut)))).toEqual(expected);
    }),
  );
});

it("takes the machine and the repository each from the newest event that names it", () => {
  const started = {
    ...NO_ORIGIN,
    repository: "r",
    branch: "main",
    repositoryAt: 5,
    machine: "old",
    machineAt: 5,
  };
  const moved = { ...NO_ORIGIN, machine: "new", machineAt: 9 };
  expect(mergeOrigins(started, moved)).toEqual({ ...started, machine: "new", machineAt: 9 });
  // Without a branch, the newest place has none.
  const detached = { ...NO_ORIGIN, repository: "r", repositoryAt: 6 };
  expect(mergeOrigins(started, detached)).toMatchObject({ repository: "r", branch: undefined });
});
