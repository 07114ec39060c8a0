/** @jsxImportSource #jsx */
"use client";

import type { Spending, SpendingDay } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { day as dateText, exact, plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { FormError, TextField } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { InsightPanel } from "./insight-panel.tsx";
import {
  cents,
  daysWithTurns,
  dayText,
  isOverBudget,
  parseBudget,
  spendingText,
  totalOf,
} from "./spending-words.ts";

interface Props {
  /** Undefined while loading. */
  spending: Spending | undefined;
  /** Why it failed to load; null if it did not. */
  error: unknown;
  retry: () => void;
}

const HINT =
  "What harnesses report for their calls. A call without a reported cost is estimated at the list price of its model, without discounts and subscriptions. Days are whole, by your clock.";

/** Days that are shown at first. */
const FEW_DAYS = 14;

/** What calls cost by day, beside what the project wants to spend. */
export function SpendingPanel({ spending, error, retry }: Props) {
  return (
    <InsightPanel title="Cost by day" hint={HINT} what="the cost" data={spending} {...{ error, retry }}>
      {(data) => (
        <>
          <p className="mt-1 text-[13px] text-muted" data-testid="spending-total">
            {spendingText(data)}
          </p>
          <Days {...data} />
          <BudgetForm key={data.budget_usd} budget={data.budget_usd} />
        </>
      )}
    </InsightPanel>
  );
}

function Days({ days: whole, budget_usd: budget }: Spending) {
  const [all, setAll] = useState(false);
  const days = daysWithTurns(whole);
  const newest = days.toReversed();
  const shown = all ? newest : newest.slice(0, FEW_DAYS);
  // Room for the amounts of the largest day, and for the budget beyond it.
  const most = Math.max(...days.map(totalOf), (budget ?? 0) * 1.1, Number.MIN_VALUE);
  return (
    <>
      <ul className="mt-2 grid grid-cols-[auto_minmax(0,1fr)_auto] gap-x-3 gap-y-0.5 empty:hidden">
        {shown.map((day) => (
          <Day key={day.day} day={day} budget={budget} most={most} />
        ))}
      </ul>
      {days.length > FEW_DAYS && (
        <Button size="small" className="mt-1" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Show the latest ${FEW_DAYS}` : `Show all ${exact(days.length)} days`}
        </Button>
      )}
    </>
  );
}

function Day({ day, budget, most }: { day: SpendingDay; budget: number | null; most: number }) {
  const { cost_usd: reported, estimated_cost_usd: estimated, turns, unpriced_turns: unpriced } = day;
  const over = isOverBudget(day, budget);
  const share = (usd: number) => `${(usd / most) * 100}%`;
  const title = [
    plural(turns, "turn"),
    reported > 0 && `${cents(reported)} reported`,
    estimated > 0 && `${cents(estimated)} estimated`,
    unpriced > 0 && `${exact(unpriced)} without a price`,
  ];
  return (
    <li
      data-testid="spending-day"
      data-over={over || undefined}
      title={title.filter(Boolean).join(", ")}
      className="col-span-full grid grid-cols-subgrid items-center text-[13px]"
    >
      <span className="whitespace-nowrap text-muted">{dateText(Date.parse(day.day), "UTC")}</span>
      <span aria-hidden className="relative flex h-5 items-center">
        <span className="flex h-2 w-full overflow-hidden rounded-[3px] bg-track">
          <span className={over ? "bg-hard" : "bg-water"} style={{ width: share(reported) }} />
          <span
            className={cn("opacity-55", over ? "bg-hard" : "bg-water")}
            style={{ width: share(estimated) }}
          />
        </span>
        {budget !== null && (
          <span
            data-budget
            className="absolute inset-y-0 w-0 border-l-2 border-dashed border-line"
            style={{ left: share(budget) }}
          />
        )}
      </span>
      <span className={cn("text-right", turns === 0 ? "text-faint" : "font-medium", over && "text-hard")}>
        {dayText(day)}
        {over && <span className="font-normal"> over</span>}
      </span>
    </li>
  );
}

function BudgetForm({ budget }: { budget: number | null }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const [text, setText] = useState(budget === null ? "" : String(budget));
  const usd = parseBudget(text);
  const refresh = () => client.invalidateQueries(trpc.spending.days.queryFilter());
  const undo = useMutation(trpc.spending.setBudget.mutationOptions({ onSuccess: refresh }));
  const save = useMutation(
    trpc.spending.setBudget.mutationOptions({
      onSuccess: ({ usd: saved }) => {
        toast.success(saved === null ? "The budget is cleared." : `The budget is ${cents(saved)} a day.`, {
          action: { label: "Undo", onClick: () => undo.mutate({ usd: budget }) },
        });
        return refresh();
      },
    }),
  );
  function submit(event: FormEvent) {
    event.preventDefault();
    if (usd !== undefined) save.mutate({ usd });
  }
  return (
    <form onSubmit={submit} className="mt-3 max-w-80">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-end gap-2">
        <TextField
          label="Budget, US dollars a day"
          inputMode="decimal"
          placeholder="none"
          value={text}
          aria-invalid={usd === undefined}
          onChange={({ target }) => setText(target.value)}
        />
        <Button type="submit" size="field" disabled={usd === undefined || usd === budget || save.isPending}>
          Save budget
        </Button>
      </div>
      {usd === undefined && (
        <p role="alert" className="mt-1 text-xs text-hard">
          Enter an amount up to 1,000,000, such as 20, or nothing for no budget.
        </p>
      )}
      {save.isError && <FormError>The budget was not saved: {save.error.message}</FormError>}
    </form>
  );
}
