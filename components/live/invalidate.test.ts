import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { invalidate } from "./invalidate.ts";

/** A query whose answers the test gives, one after the other. */
function askedQuery(client: QueryClient, key: string) {
  const asked: ((answer: string) => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey: [key],
    queryFn: () => new Promise<string>((resolve) => asked.push(resolve)),
  });
  const stop = observer.subscribe(() => {});
  return { asked, stop, data: () => observer.getCurrentResult().data };
}

const settled = () => new Promise(setImmediate);

it("reads a query again whose first fetch was under way when the change came", async () => {
  const client = new QueryClient();
  const { asked, stop, data } = askedQuery(client, "turns");
  const done = invalidate(client, ({ queryKey }) => queryKey[0] === "turns");
  asked[0]!("before the change");
  await expect.poll(() => asked.length).toBe(2);
  asked[1]!("after the change");
  await done;
  expect(data()).toBe("after the change");
  stop();
});

it("begins a later fetch under way anew, and leaves other queries alone", async () => {
  const client = new QueryClient();
  const turns = askedQuery(client, "turns");
  const other = askedQuery(client, "other");
  for (const { asked } of [turns, other]) asked[0]!("first");
  await settled();
  const matches = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] === "turns";
  void invalidate(client, matches);
  const done = invalidate(client, matches);
  expect([turns.asked.length, other.asked.length]).toEqual([3, 1]);
  turns.asked[2]!("newest");
  turns.asked[1]!("late");
  await done;
  expect(turns.data()).toBe("newest");
  turns.stop();
  other.stop();
});
