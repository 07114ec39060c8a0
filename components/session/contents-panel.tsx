/** @jsxImportSource #jsx */
"use client";

import type { ChartPoint, SessionSummary } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { Ago } from "../clock.tsx";
import { heldName, heldRows } from "../contents-words.ts";
import { keep } from "../fleet/use-fleet-queries.ts";
import { compact, exact, percent } from "../format.ts";
import { sessionRange } from "../range.ts";
import { useTRPC } from "../trpc.ts";
import { Term } from "../ui/term.tsx";

interface Props {
  session: SessionSummary;
  agentId: string;
  /** Of the agent, in order; undefined while loading. */
  points: readonly ChartPoint[] | undefined;
  onTurn: (key: string) => void;
}

const HINT =
  "The level is what the provider counted. Its parts are estimates from the texts of the recording or of the guard's messages, which stay on their machine: only kinds, names of tools and counts are sent.";

/** What fills the window of an agent, and the largest things in it. Nothing if no source tells it. */
export function ContentsPanel({ session, agentId, points = [], onTurn }: Props) {
  const { data } = useQuery(
    useTRPC().contents.queryOptions({ ...sessionRange(session), session: session.id }, keep),
  );
  const own = data?.windows.find(({ agent_id }) => agent_id === agentId);
  if (own === undefined) return null;
  const turnAt = (at: string) => points.find((point) => point.at >= at);
  const told = turnAt(own.at);
  return (
    <section aria-label="What fills the window" className="panel px-4 py-3.5">
      <h2 className="text-[13px] font-semibold">
        <Term here={HINT}>What fills the window</Term>
      </h2>
      <p className="mt-1 text-xs text-muted">
        {compact(own.context_tokens)} tokens{told !== undefined && ` at turn ${exact(told.number)}`},{" "}
        <Ago at={own.at} />
      </p>
      <table className="mt-2 w-full table-fixed text-[13px]">
        <colgroup>
          <col />
          <col className="w-14" />
          <col className="w-14" />
        </colgroup>
        <thead className="sr-only">
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Tokens</th>
            <th scope="col">Share</th>
          </tr>
        </thead>
        <tbody data-testid="held-parts">
          {heldRows(own).map(({ name, tokens, share, count }) => (
            <tr key={name} className="border-t">
              <th scope="row" className="py-1 pr-2 text-left font-normal">
                <span className="flex min-w-0 items-baseline gap-1.5">
                  <span className="min-w-0 truncate" title={name}>
                    {name}
                  </span>
                  {count !== undefined && count > 1 && (
                    <span className="shrink-0 text-xs text-faint">{exact(count)}</span>
                  )}
                </span>
                <span aria-hidden className="mt-0.5 block h-1 overflow-hidden rounded-full bg-track">
                  <span
                    className="block h-full bg-water forced-colors:bg-[CanvasText]"
                    style={{ width: `${Math.min(1, share) * 100}%` }}
                  />
                </span>
              </th>
              <td className="py-1 text-right align-top">{compact(tokens)}</td>
              <td className="py-1 text-right align-top text-muted">{percent(share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {own.largest.length === 0 ? (
        <p className="mt-2 text-xs text-muted">
          Only recordings show the largest things: telemetry and the guard do not say which turn brought each.
        </p>
      ) : (
        <>
          <h3 className="mt-3 text-xs font-medium text-muted">The largest things in it</h3>
          <ol className="mt-1 grid grid-cols-1" data-testid="held-largest">
            {[...own.largest.entries()].map(([place, thing]) => {
              const turn = turnAt(thing.at);
              return (
                <li
                  key={place}
                  className="flex items-baseline gap-2 border-t py-1 text-[13px] first:border-t-0"
                >
                  <span className="min-w-0 truncate">{heldName(thing)}</span>
                  {turn === undefined ? (
                    <Ago at={thing.at} className="shrink-0 text-xs text-faint" />
                  ) : (
                    <button
                      type="button"
                      className="shrink-0 cursor-pointer text-xs text-muted hover:underline"
                      onClick={() => onTurn(turn.key)}
                    >
                      turn {exact(turn.number)}
                    </button>
                  )}
                  <span className="ml-auto shrink-0">{compact(thing.tokens)}</span>
                </li>
              );
            })}
          </ol>
        </>
      )}
    </section>
  );
}
