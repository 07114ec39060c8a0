/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";

const LOOK_MS = 1_000;

/** How far the server is with judging recorded turns again. Nothing while there is nothing to do. */
export function Rejudging() {
  const [most, setMost] = useState(0);
  const { data } = useQuery(
    useTRPC().policies.rejudging.queryOptions(undefined, {
      refetchInterval: ({ state }) => ((state.data?.agents_left ?? 0) > 0 ? LOOK_MS : false),
    }),
  );
  const left = data?.agents_left ?? 0;
  if (left > most) setMost(left);
  if (left === 0) return null;
  return (
    <div className="mb-3 text-[13px]" data-testid="rejudging">
      <p role="status">
        Recorded turns are being judged again: {plural(left, "agent")} left. It goes on if you leave this
        page, and after a restart of the server.
      </p>
      <progress
        aria-label="Agents judged again"
        className="mt-1 block h-1.5 w-full overflow-hidden rounded-full accent-accent"
        value={most === 0 ? 0 : 1 - left / most}
      />
    </div>
  );
}
