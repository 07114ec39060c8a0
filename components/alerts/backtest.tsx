/** @jsxImportSource #jsx */
"use client";

import type { AlertRule } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import { useMutation } from "@tanstack/react-query";
import { ChartArea } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";
import { useZone } from "../clock.tsx";
import { duration, exact, shortTime } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { FormError } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { Skeleton } from "../ui/states.tsx";
import { backtestText } from "./alert-text.ts";

const DAY = 86_400_000;
const RANGES = [
  { value: "1", label: "24 hours" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
] as const;
const SHOWN = 20;

const FiringChart = dynamic(() => import("./firing-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-[401px]" />,
});

const keyOf = ({ agent_id, fired_at }: AlertBacktest["firings"][number]) => `${agent_id} ${fired_at}`;

/** The chart opens below the list, often out of sight. */
const bringIntoView = (chart: HTMLElement | null) => chart?.scrollIntoView({ block: "nearest" });

/** The notifications a rule would have sent over recorded history. `rule` is undefined while it has mistakes. */
export function Backtest({ rule }: { rule: AlertRule | undefined }) {
  const zone = useZone();
  const [days, setDays] = useState<(typeof RANGES)[number]["value"]>("7");
  /** The firing whose chart is shown: `agent_id fired_at`. */
  const [drawn, setDrawn] = useState<string>();
  const [told, setTold] = useState<{ rule: AlertRule; days: number }>();
  const run = useMutation(useTRPC().alerts.backtest.mutationOptions());
  const isOld =
    told !== undefined && (JSON.stringify(told.rule) !== JSON.stringify(rule) || told.days !== Number(days));

  function start() {
    if (rule === undefined) return;
    const to = Date.now();
    setDrawn(undefined);
    setTold({ rule, days: Number(days) });
    run.mutate({
      rule,
      from: new Date(to - Number(days) * DAY).toISOString(),
      to: new Date(to).toISOString(),
    });
  }
  const { data } = run;
  const shown = data?.firings.slice(0, SHOWN) ?? [];
  const chosen = shown.find((firing) => keyOf(firing) === drawn);
  return (
    <section aria-label="Backtest" className="rounded-md border border-rule p-3">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto text-[13px] text-muted">Notifications this rule would have sent</p>
        <SelectMenu name="Range" value={days} options={RANGES} onChange={setDays} />
        <Button disabled={rule === undefined || run.isPending} onClick={start}>
          {run.isPending ? "Running…" : "Backtest"}
        </Button>
      </div>
      {rule === undefined && (
        <p className="mt-1 text-xs text-faint">Correct the rule above to try it on recorded history.</p>
      )}
      {run.isError && <FormError>{run.error.message}</FormError>}
      {data !== undefined && told !== undefined && (
        <div className="mt-2 text-[13px]" data-testid="backtest">
          <p role="status">{backtestText(data, told.days)}</p>
          {isOld && <p className="text-warn-ink">The rule has changed since. Run it again.</p>}
          <ul className="mt-1 max-h-48 overflow-auto">
            {shown.map((firing) => (
              <li key={keyOf(firing)} className="border-t py-1 first:border-t-0">
                <Button
                  size="small"
                  look="ghost"
                  className="float-right ml-2"
                  aria-expanded={drawn === keyOf(firing)}
                  aria-label={`${drawn === keyOf(firing) ? "Hide" : "Show"} chart: ${firing.harness} · ${firing.session}, ${shortTime(Date.parse(firing.fired_at), zone)}`}
                  onClick={() => setDrawn(drawn === keyOf(firing) ? undefined : keyOf(firing))}
                >
                  <ChartArea aria-hidden /> {drawn === keyOf(firing) ? "Hide" : "Show"} chart
                </Button>
                <Link
                  href={firing.path}
                  className="font-medium hover:underline wrap-anywhere"
                  target="_blank"
                >
                  <Name>{firing.harness}</Name> · <Name>{firing.session}</Name>
                </Link>{" "}
                <span className="text-muted">
                  {shortTime(Date.parse(firing.fired_at), zone)}
                  {firing.ended_at !== null &&
                    `, ${duration(Date.parse(firing.ended_at) - Date.parse(firing.fired_at))}`}
                </span>
                <span className="block text-xs text-faint wrap-anywhere">{firing.why}</span>
              </li>
            ))}
          </ul>
          {data.count > SHOWN && <p className="text-xs text-faint">and {exact(data.count - SHOWN)} more</p>}
          {chosen !== undefined && (
            <div ref={bringIntoView} className="mt-2" data-testid="backtest-chart">
              <FiringChart
                key={chosen.agent_id}
                rule={told.rule}
                firings={data.firings.filter(({ agent_id }) => agent_id === chosen.agent_id)}
                chosen={chosen}
              />
            </div>
          )}
        </div>
      )}
    </section>
  );
}
