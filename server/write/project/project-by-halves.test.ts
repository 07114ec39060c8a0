import fc from "fast-check";
import { expect, it } from "vitest";
import { parsedEvent } from "../../testing/events.ts";
import type { Received } from "../plan/group-events.ts";
import type { PartOutcome } from "./plan-chunk.ts";
import { projectByHalves } from "./project-by-halves.ts";

const NOTHING: PartOutcome = { counts: new Map(), requests: new Map(), sessions: [], harnesses: false };
const idsOf = (part: readonly Received[]) => part.flatMap(({ events }) => events.map(({ id }) => id!));

/** Requests with so many events each, numbered through. */
function requests(sizes: readonly number[]): Received[] {
  let next = 0;
  return sizes.map((size, request) => ({
    request,
    receivedAt: 5,
    events: Array.from({ length: size }, () => parsedEvent({ id: String(next++), type: "cleared" })),
  }));
}

/** Projects a part unless it holds a poison event. */
function projectExcept(poison: ReadonlySet<string>, projected: string[]) {
  return async (part: readonly Received[]): Promise<PartOutcome> => {
    if (idsOf(part).some((id) => poison.has(id))) throw new Error("poison");
    projected.push(...idsOf(part));
    return {
      counts: new Map([["accepted", idsOf(part).length]]),
      requests: new Map(
        part.map(({ request }) => {
          const accepted = part
            .filter((one) => one.request === request)
            .flatMap(({ events }) => events).length;
          return [request, { accepted, duplicates: 0 }];
        }),
      ),
      sessions: [],
      harnesses: false,
    };
  };
}

it("projects every event but those that fail alone, each once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(6), { maxLength: 8 }),
      fc.uniqueArray(fc.nat(40), { maxLength: 6 }),
      async (sizes, poisoned) => {
        const received = requests(sizes);
        const all = idsOf(received);
        const poison = new Set(poisoned.map(String).filter((id) => all.includes(id)));
        const projected: string[] = [];
        const { done, failed } = await projectByHalves(
          received,
          projectExcept(poison, projected),
          () => false,
        );
        expect(projected).toEqual(all.filter((id) => !poison.has(id)));
        expect(failed.flatMap((one) => idsOf([one.received]))).toEqual(all.filter((id) => poison.has(id)));
        expect(done.counts.get("accepted") ?? 0).toBe(projected.length);
        for (const { request, events } of received) {
          const accepted = events.filter(({ id }) => !poison.has(id!)).length;
          expect(done.requests.get(request)?.accepted ?? 0).toBe(accepted);
        }
      },
    ),
  );
});

it("names the event that fails, also after a request without events", async () => {
  const { failed } = await projectByHalves(requests([0, 1]), projectExcept(new Set(["0"]), []), () => false);
  expect(failed.flatMap((one) => idsOf([one.received]))).toEqual(["0"]);
});

it("asks once if nothing fails", async () => {
  let asked = 0;
  await projectByHalves(
    requests([3, 4]),
    async () => {
      asked += 1;
      return NOTHING;
    },
    () => false,
  );
  expect(asked).toBe(1);
});

it("ends at an error that no event is to blame for", async () => {
  const gone = new Error("the database is away");
  let asked = 0;
  const project = async () => {
    asked += 1;
    throw gone;
  };
  await expect(projectByHalves(requests([8]), project, (error) => error === gone)).rejects.toBe(gone);
  expect(asked).toBe(1);
});
