"use client";

import type { MovedSession } from "@plimsoll/protocol/api";
import { useRouter, useSearchParams } from "next/navigation";
import { useEffect } from "react";

/** Where a session is that something said is a sub-agent; undefined if its page failed for another reason. */
export function movedSession(error: unknown): MovedSession | undefined {
  const data = (error as { data?: { error?: { code?: string; details?: unknown } } } | null)?.data?.error;
  if (data?.code !== "not_found") return undefined;
  return data.details as MovedSession | undefined;
}

/** The address of the sub-agent. Turns keep their keys, so the rest of a link stays valid. */
export function movedHref({ session_id, agent_id }: MovedSession, search: URLSearchParams): string {
  const moved = new URLSearchParams(search);
  moved.set("agent", agent_id);
  return `/sessions/${session_id}?${moved}`;
}

/** Leads on from the page of a session that is a sub-agent. True while it does. */
export function useMovedSession(error: unknown): boolean {
  const router = useRouter();
  const search = useSearchParams();
  const moved = movedSession(error);
  const href = moved && movedHref(moved, search);
  useEffect(() => {
    if (href !== undefined) router.replace(href);
  }, [href, router]);
  return href !== undefined;
}
