/** @jsxImportSource #jsx */
"use client";

import type { ReplayAssumption, ReplayFigure, ReplayResult } from "@plimsoll/protocol/api";
import dynamic from "next/dynamic";
import { useState } from "react";
import { compact, exact, plural, signed } from "../../format.ts";
import { Link } from "../../projects/link.tsx";
import { Modal } from "../../ui/dialog.tsx";
import { Name } from "../../ui/name.tsx";
import { ScrollRegion } from "../../ui/scroll-region.tsx";
import { Skeleton } from "../../ui/states.tsx";
import {
  assumptionText,
  errorText,
  isUnrun,
  type ResultRow,
  RUN_NAMES,
  RUNS,
  type RunName,
  resultRows,
  summaryText,
} from "./replay-text.ts";

const ReplaySession = dynamic(() => import("./replay-session.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="mt-4 h-56" />,
});

/** A figure whose sessions are listed. */
interface Opened {
  title: string;
  figure: ReplayFigure;
}

/** The result of a replay: a table whose numbers list their sessions, one session as charts, and what was assumed. */
export function ReplayResultView({ id, result }: { id: string; result: ReplayResult }) {
  const [opened, setOpened] = useState<Opened>();
  return (
    <div data-testid="replay-result">
      <p className="mb-1 text-[13px]">{summaryText(result)}</p>
      <p className="mb-2 text-[13px] text-muted" data-testid="replay-error">
        {errorText(result)}
      </p>
      <ScrollRegion label="Result of the replay" className="overflow-x-auto">
        <table className="w-full text-[13px]">
          <thead>
            <tr className="text-left text-xs text-faint">
              <th className="py-1.5 pr-3 font-normal">
                <span className="sr-only">What</span>
              </th>
              {RUNS.map((run) => (
                <th key={run} className="py-1.5 pl-3 text-right font-normal">
                  {RUN_NAMES[run]}
                  {run === "current" && result.generation > 0 && ` (${result.generation})`}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {resultRows(result).map((row) => (
              <tr key={row.name} className="border-t">
                <th className="py-1.5 pr-3 text-left font-normal text-muted">{row.name}</th>
                {RUNS.map((run) => (
                  <td key={run} className="py-1.5 pl-3 text-right tabular-nums">
                    {isUnrun(run, result) ? (
                      <span className="text-faint">not run</span>
                    ) : (
                      <Cell row={row} run={run} onOpen={setOpened} />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <ReplaySession id={id} result={result} />
      <Assumptions assumptions={result.assumptions} />
      {opened !== undefined && (
        <SessionsDialog opened={opened} names={result.names} onClose={() => setOpened(undefined)} />
      )}
    </div>
  );
}

function Cell({ row, run, onOpen }: { row: ResultRow; run: RunName; onOpen: (opened: Opened) => void }) {
  if (row.kind === "tokens")
    return row.name === "highest level" ? compact(row.tokens[run]) : signed(row.tokens[run], compact);
  const figure = row.figures[run];
  if (figure.count === 0) return "0";
  const title = `${row.name}, ${RUN_NAMES[run].toLowerCase()}`;
  return (
    <button
      type="button"
      onClick={() => onOpen({ title, figure })}
      title={`In ${plural(figure.sessions, "session")}`}
      aria-label={`${title}: ${exact(figure.count)}. Show its sessions`}
      className="underline decoration-edge underline-offset-2 hover:decoration-ink pointer-coarse:py-1.5"
    >
      {exact(figure.count)}
    </button>
  );
}

/** The sessions behind a number. They open in a new tab, because the draft is not saved. */
function SessionsDialog({
  opened: { title, figure },
  names,
  onClose,
}: {
  opened: Opened;
  names: ReplayResult["names"];
  onClose: () => void;
}) {
  const more = figure.sessions - figure.most.length;
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`${title[0]!.toUpperCase()}${title.slice(1)}`}
      description={`${exact(figure.count)} in ${plural(figure.sessions, "session")}. Sessions open in a new tab.`}
    >
      <ol className="text-[13px]">
        {figure.most.map(({ id, count }) => (
          <li key={id} className="flex items-baseline justify-between gap-3 border-t py-2 first:border-t-0">
            <Link
              href={`/sessions/${id}`}
              target="_blank"
              rel="noreferrer"
              className="min-w-0 wrap-anywhere underline decoration-edge underline-offset-2 hover:decoration-ink"
            >
              <Name>{names[id]?.name ?? id}</Name>
              <Name className="block text-xs text-faint">{names[id]?.harness}</Name>
            </Link>
            <span className="tabular-nums">{exact(count)}</span>
          </li>
        ))}
      </ol>
      {more > 0 && (
        <p className="mt-2 text-[13px] text-muted">and {plural(more, "more session", "more sessions")}</p>
      )}
    </Modal>
  );
}

function Assumptions({ assumptions }: { assumptions: readonly ReplayAssumption[] }) {
  const families = [...new Set(assumptions.map(({ family }) => family))];
  if (families.length === 0) return null;
  return (
    <details className="mt-4 text-[13px]">
      <summary className="cursor-pointer text-muted">What is assumed</summary>
      <p className="mt-2 max-w-xl text-muted">
        The replay keeps the recorded turns and applies each policy's responses to them. It cannot know what
        an agent would have done differently.
      </p>
      <dl className="mt-2">
        {families.map((family) => (
          <div key={family} className="border-t py-2 first:border-t-0">
            <dt className="font-medium">{family}</dt>
            {assumptions
              .filter((one) => one.family === family)
              .map((one) => (
                <dd key={`${one.window_tokens}-${one.response}`} className="text-xs text-muted">
                  {assumptionText(one)}
                </dd>
              ))}
          </div>
        ))}
      </dl>
    </details>
  );
}
