/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTimeZone } from "../clock.tsx";
import { money } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { twice, usualDay } from "./usual-day.ts";

const DAY = 86_400_000;
const DAYS = 14;

/** Limits on the cost of a day from the project's own days: decision 156. */
export function UsualCost({ onChoose }: { onChoose: (usd: number) => void }) {
  const time_zone = useTimeZone();
  const [range] = useState(() => {
    const to = Date.now();
    return { from: new Date(to - DAYS * DAY).toISOString(), to: new Date(to).toISOString() };
  });
  const { data } = useQuery(useTRPC().spending.days.queryOptions({ ...range, time_zone }));
  const usual = data === undefined ? undefined : usualDay(data.days);
  const budget = data?.budget_usd ?? undefined;
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-2 text-xs text-faint" data-testid="usual-cost">
      {usual === undefined
        ? data !== undefined && "A usual day is unknown: fewer than 3 whole days of the last 14 have a cost."
        : `A usual day costs ${money(usual)}.`}
      {usual !== undefined && (
        <Button size="small" onClick={() => onChoose(twice(usual))}>
          Use twice that
        </Button>
      )}
      {budget !== undefined && (
        <Button size="small" onClick={() => onChoose(budget)}>
          Use the budget of {money(budget)}
        </Button>
      )}
    </div>
  );
}
