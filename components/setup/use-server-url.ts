"use client";

import { useQuery } from "@tanstack/react-query";
import { useMounted } from "../clock.tsx";
import { useTRPC } from "../trpc.ts";

/** Where senders reach this server: what the operator configured, else the address of this page. */
export function useServerUrl(): string {
  const { data } = useQuery(useTRPC().instance.queryOptions());
  const mounted = useMounted();
  if (data?.public_url) return data.public_url.replace(/\/$/, "");
  return mounted ? window.location.origin : "http://127.0.0.1:4180";
}
