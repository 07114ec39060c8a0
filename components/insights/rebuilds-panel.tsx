/** @jsxImportSource #jsx */
"use client";

import type { Rebuilds, Series } from "@plimsoll/protocol/api";
import { REBUILD_CAUSES, type RebuildCause } from "@plimsoll/protocol/pure";
import dynamic from "next/dynamic";
import { useCallback, useId, useMemo } from "react";
import type { ChartActions } from "../charts/chart-actions.ts";
import { ChartFrame, DataSince, DataTable, NoData } from "../charts/chart-frame.tsx";
import type { MarksShown } from "../charts/marks-lane.tsx";
import { REBUILD_LOOKS } from "../charts/rebuild-looks.ts";
import { stackedRows } from "../charts/series-rows.ts";
import { TextureSwatch, Textures } from "../charts/textures.tsx";
import { compact, exact, fullTime, money, percent, plural } from "../format.ts";
import { Skeleton } from "../ui/states.tsx";
import { REBUILD_CAUSE_TEXT } from "../words.ts";

const Chart = dynamic(() => import("../charts/stacked-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

const ORDER = Object.keys(REBUILD_LOOKS) as RebuildCause[];
const isCause = (name: string): name is RebuildCause => (REBUILD_CAUSES as readonly string[]).includes(name);
const nameOf = (name: string) => (isCause(name) ? REBUILD_CAUSE_TEXT[name] : name);

const CHART_PX = 200;
/** Room for a line that says so. */
const EMPTY_PX = 40;

interface Props extends ChartActions {
  /** Tokens by cause over time; undefined while loading. */
  tokens: Series | undefined;
  sums: Rebuilds | undefined;
  /** When the data begins, if the chart leaves out the time before; epoch ms. */
  since: number | null;
  marks: MarksShown;
  /** Why a series failed to load; null if none did. */
  error: unknown;
  retry: () => void;
}

/** Why prompts were sent again that a cache had, over time and by cause. */
export function RebuildsPanel({ tokens, sums, since, marks, error, retry, ...actions }: Props) {
  const stack = useMemo(() => {
    if (tokens === undefined) return undefined;
    const shaped = stackedRows(tokens);
    return { ...shaped, groups: ORDER.filter((cause) => shaped.groups.includes(cause)) };
  }, [tokens]);
  const groups = stack?.groups ?? [];
  const id = useId();
  const fillOf = useCallback((group: string) => `url(#${id}${group})`, [id]);
  const total = groups.reduce((sum, group) => sum + (stack?.totals[group] ?? 0), 0);
  const step = (tokens?.step ?? 0) * 1_000;
  const ranked = groups.toSorted((a, b) => stack!.totals[b]! - stack!.totals[a]!);
  const some = (stack?.rows ?? [])
    .filter((row) => groups.some((group) => (row[group] ?? 0) > 0))
    .toReversed();
  const summary =
    tokens === undefined
      ? "Loading."
      : total === 0
        ? "No cache was rebuilt in this range."
        : `${exact(total)} tokens were in a cache and were sent again: ${ranked
            .map((group) => `${exact(stack!.totals[group]!)} for ${nameOf(group)}`)
            .join(", ")}.`;
  return (
    <ChartFrame
      title="Why caches were rebuilt"
      hint="Tokens that the provider's cache had for the turn before, that the next prompt still needed, and that were not read from the cache. The cause is the likely one: a fall, another model, a pause longer than the life of the cache, or where the prompt first differs."
      summary={summary}
      legend={
        <>
          <svg aria-hidden className="absolute size-0">
            <Textures id={id} fills={groups.map((name) => ({ name, ...REBUILD_LOOKS[name] }))} />
          </svg>
          {total > 0 && <span title={`${exact(total)} tokens`}>{compact(total)} tokens sent again</span>}
          {since !== null && <DataSince at={since} />}
        </>
      }
      height={stack !== undefined && groups.length === 0 ? EMPTY_PX : CHART_PX}
      error={tokens === undefined ? error : null}
      retry={retry}
      chart={
        tokens === undefined || stack === undefined ? (
          <Skeleton className="h-full" />
        ) : groups.length === 0 ? (
          <NoData>No cache was rebuilt in this range</NoData>
        ) : (
          <Chart
            rows={stack.rows}
            groups={groups}
            fillOf={fillOf}
            from={Date.parse(tokens.range.from)}
            to={Date.parse(tokens.range.to)}
            step={step}
            marks={marks}
            nameOf={nameOf}
            none="no cache rebuilt"
            {...actions}
          />
        )
      }
      below={sums !== undefined && sums.causes.length > 0 && <Causes sums={sums} swatches={id} />}
      table={() => (
        <DataTable
          head={["From", ...groups.map(nameOf)]}
          hrefs={some.map(({ at }) => actions.hrefOf({ from: at, to: at + step }))}
          rows={some.map((row) => [fullTime(row.at), ...groups.map((group) => exact(row[group] ?? 0))])}
        />
      )}
    />
  );
}

/** @param swatches begins the ids of the textures */
function Causes({ sums: { total, causes }, swatches }: { sums: Rebuilds; swatches: string }) {
  const hasPrices = total.priced_tokens > 0;
  return (
    <div className="mt-3 border-t pt-2">
      <ul className="grid gap-y-0.5" data-testid="rebuild-causes">
        {causes.map(({ cause, turns, tokens, usd, priced_tokens: priced }) => (
          <li
            key={cause}
            className="grid grid-cols-[12px_minmax(0,1fr)_auto_64px] items-center gap-x-2 px-1 py-1 text-[13px] sm:grid-cols-[12px_minmax(0,1fr)_110px_70px_60px_80px]"
          >
            <TextureSwatch id={swatches} name={cause} />
            <span className="first-letter:uppercase">{REBUILD_CAUSE_TEXT[cause]}</span>
            <span className="text-right text-muted max-sm:hidden">{plural(turns, "turn")}</span>
            <span className="text-right font-medium" title={`${exact(tokens)} tokens`}>
              {compact(tokens)}
            </span>
            <span className="text-right text-muted max-sm:hidden">{percent(tokens / total.tokens)}</span>
            <span className="text-right">{priced === 0 ? "" : money(usd)}</span>
          </li>
        ))}
      </ul>
      {hasPrices && (
        <p className="mt-1 px-1 text-xs text-faint">
          {money(total.usd)} above the price of reading them from the cache, at list prices
          {total.priced_tokens < total.tokens &&
            `; ${percent(1 - total.priced_tokens / total.tokens)} of the tokens are of models without a list price`}
        </p>
      )}
    </div>
  );
}
