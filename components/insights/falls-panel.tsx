/** @jsxImportSource #jsx */
"use client";

import type { Falls, FallView, SessionSummary } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import { BoundaryGlyph } from "../charts/boundary-glyph.tsx";
import { Ago } from "../clock.tsx";
import { keep } from "../fleet/use-fleet-queries.ts";
import { compact, exact, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { sessionRange } from "../range.ts";
import { useTRPC } from "../trpc.ts";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { Term } from "../ui/term.tsx";
import { boundaryName } from "../words.ts";
import {
  fallTitle,
  KEPT_HEAD,
  keptCells,
  lastedText,
  lostText,
  moneyText,
  outcomeText,
  REINJECTION_HEAD,
  reinjectionCells,
  SUMS_HEAD,
  sumsCells,
  sumsText,
  workText,
} from "./fall-words.ts";
import { InsightPanel } from "./insight-panel.tsx";

interface Props {
  /** Undefined while loading. */
  falls: Falls | undefined;
  /** Why they failed to load; null if they did not. */
  error: unknown;
  retry: () => void;
}

const HINT =
  "Each fall is compared with going on without it. It costs the call that wrote a summary, as far as one was reported, and the tokens that the next prompt had to write to the cache. It saves, with each later turn, what reading the longer prompt from the cache would have cost. At list prices.";
const KEPT_HINT =
  "Sentences of prompts and files of tool calls from before a compaction, looked for in its summary and in all that was sent with it, on the machine of the recording. A rule is a sentence with a word such as never or always. A sentence that the summary says in other words counts as lost.";

/** What falls freed, cost and saved: by harness and model, by level, and the worst of them. */
export function FallsPanel({ falls, error, retry }: Props) {
  return (
    <InsightPanel
      title="What falls were worth"
      hint={HINT}
      what="the falls"
      data={falls}
      {...{ error, retry }}
    >
      {(data) => (
        <>
          <p className="mt-1 text-[13px] text-muted" data-testid="falls-total">
            {sumsText(data.total)}
            {!data.complete && " Only the latest 20,000 falls of the range were looked at."}
          </p>
          {data.work !== null && (
            <p className="mt-1 text-[13px] text-muted" data-testid="lost-work">
              {workText(data.work)}
            </p>
          )}
          {data.reinjection !== null && <Reinjection reinjection={data.reinjection} />}
          {data.total.falls > 0 && (
            <>
              <Sums
                title="By harness, model and kind"
                columns={SUMS_HEAD}
                rows={data.rows.map(({ harness, model, type, ...sums }) => ({
                  key: `${harness}\n${model}\n${type}`,
                  cells: sumsCells(sums),
                  head: (
                    <span className="flex items-center gap-1.5">
                      <BoundaryGlyph type={type} className="shrink-0" />
                      <HarnessAndModel harness={harness} model={`${model} · ${boundaryName(type)}`} />
                    </span>
                  ),
                }))}
              />
              <Unlisted count={data.total.falls - data.rows.reduce((sum, { falls }) => sum + falls, 0)} />
              <Sums
                title="By the level before the fall"
                columns={SUMS_HEAD}
                rows={data.levels.map(({ from_tokens: from, to_tokens: to, ...sums }) => ({
                  key: String(from),
                  cells: sumsCells(sums),
                  head: to === null ? `${compact(from)} or more` : `${compact(from)} to ${compact(to)}`,
                }))}
              />
              <Kept rows={data.rows.filter(({ type }) => type === "compacted")} />
            </>
          )}
          {data.falls.length > 0 && (
            <div className="mt-4">
              <h3 className="text-xs font-medium text-muted">Those that lost most</h3>
              <FallList falls={data.falls} />
            </div>
          )}
        </>
      )}
    </InsightPanel>
  );
}

const REINJECTION_HINT =
  "Calls that failed, or that a person rejected or corrected, in the 20 calls before and after each compaction. A session is only compared with itself. The change is what exceeds the usual one where nothing falls, and holds in 95 of 100 resamples of the sessions. Below 30 sessions it is grey.";

/** What went wrong after compactions with rules put back, beside those without. */
function Reinjection({ reinjection }: { reinjection: NonNullable<Falls["reinjection"]> }) {
  const rows = [
    { head: "Rules put back", change: reinjection.with },
    { head: "Not put back", change: reinjection.without },
  ];
  return (
    <Sums
      title="Calls that went wrong around compactions"
      hint={REINJECTION_HINT}
      columns={REINJECTION_HEAD}
      rows={rows.map(({ head, change }) => ({
        key: head,
        head,
        cells: reinjectionCells(change),
        faint: change === null || change.verdict === "few_sessions",
      }))}
      testid="reinjection"
    />
  );
}

/** What compactions kept of prompts and files, where a recording shows it. Nothing without a compaction. */
function Kept({ rows }: { rows: Falls["rows"] }) {
  if (rows.length === 0) return null;
  if (rows.every(({ seen }) => seen === 0))
    return (
      <p className="mt-4 text-[13px] text-muted" data-testid="kept-unseen">
        What compactions kept of prompts and files cannot be seen: no recording with their summaries was
        imported. Recordings of Claude Code, Codex and others hold them.
      </p>
    );
  return (
    <Sums
      title="What compactions kept"
      hint={KEPT_HINT}
      columns={KEPT_HEAD}
      rows={rows.map((row) => ({
        key: `${row.harness}\n${row.model}`,
        cells: keptCells(row),
        head: <HarnessAndModel harness={row.harness} model={row.model} />,
      }))}
    />
  );
}

/** Beside each other, each with room; below each other on a phone. */
function HarnessAndModel({ harness, model }: { harness: string; model: string }) {
  return (
    <span className="flex min-w-0 @max-[560px]:grid" title={`${harness} · ${model}`}>
      <Name className="shrink-0 truncate @min-[560px]:max-w-1/2">{harness}</Name>
      <span className="truncate text-muted">
        <span className="whitespace-pre @max-[560px]:hidden"> · </span>
        {model}
      </span>
    </span>
  );
}

interface SumsProps {
  title: string;
  hint?: string;
  columns: readonly string[];
  /** With a cell for each column. */
  rows: readonly { key: string; head: ReactNode; cells: readonly string[]; faint?: boolean }[];
  testid?: string;
}

/** Columns that a phone has no room for. */
const ROOMY = new Set([
  ...["Lasted", "Full again after", "Cost", "Saved", "Other sentences"],
  ...["Compactions", "20 calls before", "20 after", "Seen"],
]);

function Sums({ title, hint, columns, rows, testid }: SumsProps) {
  const id = useId();
  return (
    <div className="mt-4 min-w-0" data-testid={testid}>
      <h3 id={id} className="text-xs font-medium text-muted">
        {hint === undefined ? title : <Term here={hint}>{title}</Term>}
      </h3>
      <table aria-labelledby={id} className="mt-1 w-full table-fixed text-[13px]">
        <thead className="text-xs text-faint">
          <tr>
            <th scope="col" className="w-[46%] @min-[560px]:w-[30%]">
              <span className="sr-only">{title}</span>
            </th>
            {columns.map((name) => (
              <th
                key={name}
                scope="col"
                className={cn("py-1 pl-2 text-right font-normal", ROOMY.has(name) && "@max-[560px]:hidden")}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, head, cells, faint = false }) => (
            <tr key={key} className={cn("border-t", faint && "text-faint")}>
              <th scope="row" className="py-1.5 pr-2 text-left font-normal">
                {head}
              </th>
              {cells.map((text, index) => (
                <td
                  key={columns[index]}
                  className={cn(
                    "py-1.5 pl-2 text-right",
                    ROOMY.has(columns[index]!) && "@max-[560px]:hidden",
                  )}
                >
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Unlisted({ count }: { count: number }) {
  if (count <= 0) return null;
  return (
    <p className="mt-1 text-xs text-faint">
      {plural(count, "fall")} of other harnesses and models {count === 1 ? "is" : "are"} not listed.
    </p>
  );
}

/** Falls one by one, each a link to its agent. `inSession`: all of one agent, so that nothing names it. */
export function FallList({ falls, inSession = false }: { falls: readonly FallView[]; inSession?: boolean }) {
  return (
    <ul className="mt-1 grid grid-cols-1" data-testid="falls">
      {falls.map((fall) => {
        const lost = lostText(fall);
        return (
          <li key={`${fall.agent_id}\n${fall.id}`} className="border-t py-1.5 text-[13px] first:border-t-0">
            <div className="flex items-center gap-1.5">
              <BoundaryGlyph type={fall.type} className="shrink-0" />
              <span className="min-w-0 truncate">
                <span className="inline-block first-letter:uppercase">{fallTitle(fall)}</span>
                {!inSession && (
                  <>
                    {" · "}
                    <Link
                      href={`/sessions/${fall.session_id}?agent=${fall.agent_id}`}
                      className="hover:underline"
                    >
                      <Name>{fall.session}</Name>
                      {fall.agent !== null && (
                        <span className="text-muted">
                          {" "}
                          / <Name>{fall.agent}</Name>
                        </span>
                      )}
                    </Link>
                  </>
                )}
              </span>
              <Ago at={fall.at} className="ml-auto shrink-0 text-xs text-faint" />
            </div>
            <p className="pl-[18px] text-xs text-muted">
              {[outcomeText(fall), lastedText(fall), moneyText(fall)].filter(Boolean).join(" · ")}
              {fall.thrash && (
                <span className="text-warn-ink"> · the third that was full again at once: thrashing</span>
              )}
            </p>
            {lost !== undefined && <p className="pl-[18px] text-xs text-muted">{lost}</p>}
          </li>
        );
      })}
    </ul>
  );
}

/** The falls of one agent of a session, the newest first. Nothing if it has none. */
export function AgentFalls({ session, agentId }: { session: SessionSummary; agentId: string }) {
  const trpc = useTRPC();
  const { data } = useQuery(trpc.falls.queryOptions({ ...sessionRange(session), session: session.id }, keep));
  const own = data?.falls.filter(({ agent_id }) => agent_id === agentId) ?? [];
  if (data === undefined || own.length === 0) return null;
  const isWhole = data.falls.length === data.total.falls;
  return (
    <section aria-label="What falls were worth" className="panel px-4 py-3.5">
      <h2 className="text-[13px] font-semibold">
        <Term here={HINT}>What falls were worth</Term>{" "}
        <span className="font-normal text-faint">
          {isWhole ? exact(own.length) : `the latest ${exact(own.length)}`}
        </span>
      </h2>
      <ScrollRegion label="Falls, the newest first" className="max-h-80 overflow-y-auto">
        <FallList falls={own} inSession />
      </ScrollRegion>
    </section>
  );
}
