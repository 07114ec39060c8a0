"use client";

import { useQuery } from "@tanstack/react-query";
import { useMounted } from "../clock.tsx";
import { useTRPC } from "../trpc.ts";

/** The URL for harnesses: the configured public URL, else the origin of this page. */
export function useServerUrl(): string {
  const { data } = useQuery(useTRPC().instance.queryOptions());
  const mounted = useMounted();
  if (data?.public_url) return data.public_url.replace(/\/$/, "");
  return mounted ? window.location.origin : "http://127.0.0.1:4180";
}
