"use client";

import type { PersonNames } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";

const NOBODY: ReadonlyMap<string, string> = new Map();
const byId = ({ people }: PersonNames): ReadonlyMap<string, string> =>
  new Map(people.map(({ id, name }) => [id, name]));

/** Names of people by their ids, as far as the person who looks may see them. Empty until they are known. */
export function usePeopleNames(): ReadonlyMap<string, string> {
  const options = useTRPC().people.names.queryOptions({}, { staleTime: 60_000 });
  return useQuery({ ...options, select: byId }).data ?? NOBODY;
}
