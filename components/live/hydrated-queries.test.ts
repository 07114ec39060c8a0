import { dehydrate, hydrate, QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { onHydrated } from "./hydrated-queries.ts";

function page(key: string, updatedAt: number) {
  const client = new QueryClient();
  client.setQueryData([key], "from the server", { updatedAt });
  return dehydrate(client);
}

function watched() {
  const client = new QueryClient();
  const hashes: string[] = [];
  const stop = onHydrated(client, (hash) => hashes.push(hash));
  return { client, hashes, stop };
}

test("reports a query that a page brings, and newer data for a known query", () => {
  const { client, hashes, stop } = watched();
  hydrate(client, page("status", 1));
  expect(hashes).toEqual(['["status"]']);
  hydrate(client, page("status", 2));
  expect(hashes).toEqual(['["status"]', '["status"]']);
  // Older data than in the cache is not used.
  hydrate(client, page("status", 1));
  expect(hashes).toHaveLength(2);
  stop();
  hydrate(client, page("fleet", 1));
  expect(hashes).toHaveLength(2);
});

test("does not report queries that the browser fetches, sets or invalidates", async () => {
  const { client, hashes } = watched();
  await client.prefetchQuery({ queryKey: ["status"], queryFn: () => "fetched" });
  client.setQueryData(["fleet"], "merged");
  client.setQueryData(["fleet"], "merged again");
  await client.invalidateQueries();
  await client.refetchQueries();
  expect(hashes).toEqual([]);
});
