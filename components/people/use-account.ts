"use client";

import type { Role } from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";

/** Whether one role includes another. */
export const includesRole = (role: Role | null, least: Role): boolean =>
  role !== null && ROLES.indexOf(role) >= ROLES.indexOf(least);

/** Whether the person has at least a role in the project of the page, or in every project; undefined until that is known. */
export function useHasRole(least: Role, where: "project" | "everywhere" = "project"): boolean | undefined {
  const { data } = useQuery(useTRPC().account.queryOptions());
  if (data === undefined) return undefined;
  const role = where === "everywhere" ? data.everywhere : data.role;
  return includesRole(role, least);
}
