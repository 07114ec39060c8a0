/** @jsxImportSource #jsx */
"use client";

import type { ReplayResult, ReplaySessionPoint, ReplaySessionView } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Area, AreaChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { BARE_AXIS } from "../../charts/axes.ts";
import { tooltipBox } from "../../charts/chart-frame.tsx";
import { levelTicks } from "../../charts/ticks.ts";
import { compact, exact, plural } from "../../format.ts";
import { useTRPC } from "../../trpc.ts";
import { SelectMenu } from "../../ui/select-menu.tsx";
import { NotLoaded } from "../../ui/states.tsx";
import { isUnrun, RUN_NAMES, RUNS, type RunName } from "./replay-text.ts";

/** The levels of one session side by side: what happened, under the current policy, and under the draft. */
export default function ReplaySession({ id, result }: { id: string; result: ReplayResult }) {
  const sessions = result.most_affected;
  const [session, setSession] = useState(sessions[0]?.id ?? "");
  const query = useQuery(
    useTRPC().replays.session.queryOptions({ id, session }, { enabled: session !== "", staleTime: Infinity }),
  );
  if (session === "") return null;
  const options = sessions.slice(0, 20).map((one) => ({
    value: one.id,
    label: result.names[one.id]?.name ?? one.id,
    note: result.names[one.id]?.harness ?? "",
  }));
  return (
    <section aria-label="One session under each policy" className="mt-5">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h3 className="text-[13px] font-medium">Where the draft changes most</h3>
        <SelectMenu name="Session" value={session} options={options} onChange={setSession} />
      </div>
      {query.data === undefined ? (
        <NotLoaded query={query} what="this session" className="h-44" />
      ) : (
        <Multiples view={query.data} runs={RUNS.filter((run) => !isUnrun(run, result))} />
      )}
    </section>
  );
}

function Multiples({ view: { agents }, runs }: { view: ReplaySessionView; runs: readonly RunName[] }) {
  const agent = [...agents].sort((one, other) => other.turns - one.turns)[0];
  if (agent === undefined || agent.points.length === 0)
    return <p className="text-[13px] text-muted">No turns of this session are recorded any more.</p>;
  const points = agent.points.map((point, turn) => ({ ...point, turn }));
  const highest = Math.max(1, ...points.flatMap((point) => runs.map((run) => point[run])));
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-3">
        {runs.map((run) => (
          <Multiple key={run} run={run} points={points} highest={highest} />
        ))}
      </div>
      <p className="mt-1 text-xs text-faint">
        Context tokens by turn of {agent.agent}
        {agents.length > 1 && `, the busiest of ${exact(agents.length)} agents`}; one scale.
      </p>
    </>
  );
}

interface Point extends ReplaySessionPoint {
  turn: number;
}

function Multiple({ run, points, highest }: { run: RunName; points: Point[]; highest: number }) {
  const ticks = levelTicks(highest, 4);
  const peak = Math.max(...points.map((point) => point[run]));
  const colour = run === "candidate" ? "var(--accent)" : "var(--water)";
  return (
    <figure className="min-w-0">
      <figcaption className="text-xs text-muted">
        {RUN_NAMES[run]}, up to {compact(peak)}
      </figcaption>
      <p className="sr-only">
        {plural(points.length, "point")}; from {exact(points[0]![run])} to {exact(points.at(-1)![run])}{" "}
        tokens, at most {exact(peak)}.
      </p>
      <div className="h-36">
        <ResponsiveContainer width="100%" height="100%">
          <AreaChart data={points} syncId="replay" margin={{ top: 6, right: 4, bottom: 7, left: 0 }}>
            <CartesianGrid vertical={false} horizontalValues={ticks} stroke="var(--rule)" />
            <XAxis dataKey="turn" hide type="number" domain={[0, Math.max(1, points.length - 1)]} />
            <YAxis
              {...BARE_AXIS}
              domain={[0, highest]}
              ticks={ticks}
              tickFormatter={(tokens: number) => compact(tokens)}
              width={38}
              interval={0}
            />
            <Tooltip
              isAnimationActive={false}
              cursor={{ stroke: "var(--edge)" }}
              content={({ active, payload }) => {
                const point = payload?.[0]?.payload as Point | undefined;
                if (!active || point === undefined) return null;
                return <div className={tooltipBox}>{exact(point[run])} tokens</div>;
              }}
            />
            <Area
              dataKey={run}
              type="linear"
              stroke={colour}
              strokeWidth={1.6}
              fill={colour}
              fillOpacity={0.16}
              isAnimationActive={false}
            />
          </AreaChart>
        </ResponsiveContainer>
      </div>
    </figure>
  );
}
