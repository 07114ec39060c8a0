/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { Ago } from "../clock.tsx";
import { useTRPC } from "../trpc.ts";
import { Name } from "../ui/name.tsx";

/** Polling interval, in case the live stream cannot connect. */
const POLL_MS = 3000;

/** Whether events of a harness have arrived, from any machine. */
export function HarnessEventStatus({ family, name }: { family: string; name: string }) {
  const { data } = useQuery(
    useTRPC().harnesses.queryOptions({}, { refetchInterval: POLL_MS, staleTime: POLL_MS }),
  );
  const heard = data?.harnesses.find(({ instance }) => instance.split("@", 1)[0] === family);
  return (
    <p
      role="status"
      data-testid="harness-event"
      data-arrived={heard !== undefined}
      className="mb-1.5 flex min-h-5 items-center gap-2 text-[13px]"
    >
      {data === undefined ? null : heard !== undefined ? (
        <>
          <Check aria-hidden className="size-4 shrink-0 text-ok" />
          <span className="min-w-0 wrap-anywhere">
            <Name>{heard.instance}</Name> reported <Ago at={heard.last_at} />
          </span>
        </>
      ) : (
        <>
          <span aria-hidden className="skeleton size-2 rounded-full! bg-accent!" /> Waiting for the first
          event of {name}
        </>
      )}
    </p>
  );
}
