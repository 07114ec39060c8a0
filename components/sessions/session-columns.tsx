/** @jsxImportSource #jsx */
"use client";

import type { SessionSort, SessionSummary } from "@plimsoll/protocol/api";
import { StickyNote, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { BoundaryCounts } from "../charts/boundary-counts.tsx";
import { Ago, useZone } from "../clock.tsx";
import { compact, exact, loadPercent, NONE, percent } from "../format.ts";
import { GLOSSARY } from "../glossary.ts";
import { PersonName } from "../people/person-name.tsx";
import { repositoryText } from "../place.ts";
import { Link } from "../projects/link.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { SessionStatusLabel } from "../ui/session-status.tsx";
import { costText, estimateText, rowHint, titleOf } from "../words.ts";
import type { ColumnId } from "./column-choice.ts";

interface Column {
  id: ColumnId;
  header: string;
  cell: (row: SessionSummary) => ReactNode;
}

/** Rows are cards below the `lg` width, and a grid of the chosen columns above: without the least needed below `xl`. */
export const GRID =
  "grid gap-x-3 px-4 grid-cols-[20px_minmax(0,1fr)_auto] lg:grid-cols-(--few-columns) lg:items-center lg:gap-x-2 xl:grid-cols-(--columns) xl:gap-x-3";

/** Sort key of each column. */
export const SORT_OF: Readonly<Record<ColumnId, SessionSort>> = {
  session: "title",
  harness: "harness",
  machine: "machine",
  repository: "repository",
  person: "person",
  model: "model",
  status: "status",
  now: "context_tokens",
  load: "load",
  peak: "peak_utilization",
  turns: "turns",
  boundaries: "boundaries",
  warnings: "warnings",
  cost: "cost_usd",
  uncached: "uncached_tokens",
  started: "first_at",
  last: "last_at",
};

/** Sorts that begin with the lowest value when they are chosen. */
export const ASCENDING_FIRST: ReadonlySet<SessionSort> = new Set([
  "title",
  "harness",
  "machine",
  "repository",
  "person",
  "model",
]);

/** Tooltips of column headers. */
export const COLUMN_HINTS: Readonly<Record<string, string>> = {
  machine: "The machine that the latest event of the session names.",
  repository: "Git remote and branch that the latest event of the session names.",
  person: "Whose key sent the latest event. Empty for a key of a service.",
  model: "Model of the main agent's latest turn.",
  now: "Context tokens of the main agent at its latest turn.",
  load: GLOSSARY.load,
  peak: GLOSSARY.peak,
  boundaries: GLOSSARY.boundary,
  warnings: GLOSSARY.warnings,
  cost: "What the turns of all agents cost, as the harness reports it.",
  uncached: "Prompt tokens of all agents that no cache had, and their share of all prompt tokens.",
};

export const RIGHT: ReadonlySet<string> = new Set([
  "now",
  "load",
  "peak",
  "turns",
  "warnings",
  "cost",
  "uncached",
  "started",
  "last",
]);

/** Position of each cell on narrow screens, where a row is a card. */
export const ON_CARD: Readonly<Record<ColumnId, string>> = {
  session: "max-lg:col-start-2 max-lg:row-start-1",
  harness: "max-xl:hidden",
  machine: "max-xl:hidden",
  repository: "max-xl:hidden",
  person: "max-xl:hidden",
  model: "max-xl:hidden",
  status: "max-lg:col-start-3 max-lg:row-start-1 max-lg:text-right max-lg:text-[13px]",
  now: "max-lg:col-start-2 max-lg:row-start-2 max-lg:text-left",
  load: "max-lg:col-start-3 max-lg:row-start-2",
  peak: "max-xl:hidden",
  turns: "max-lg:hidden",
  boundaries: "max-lg:col-start-2 max-lg:row-start-3 lg:pl-5",
  warnings: "max-xl:hidden",
  cost: "max-xl:hidden",
  uncached: "max-xl:hidden",
  started: "max-xl:hidden",
  last: "max-lg:col-start-3 max-lg:row-start-3",
};

function Title({ row }: { row: SessionSummary }) {
  const zone = useZone();
  return (
    <Link
      data-row-link
      href={`/sessions/${row.id}`}
      title={rowHint([titleOf(row), row.title === null ? null : row.session, row.harness], row, zone)}
      className="flex font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
    >
      <Name className="truncate">{titleOf(row)}</Name>
    </Link>
  );
}

/** Tags and note, as far as a row has room for them. */
function RowAdditions({ row: { tags, note_excerpt: note } }: { row: SessionSummary }) {
  if (tags.length === 0 && note === null) return null;
  return (
    <>
      {note !== null && (
        <span title={note} className="inline-flex shrink-0 items-center">
          <StickyNote aria-hidden className="ml-0.5 size-3 text-accent" />
          <span className="sr-only">Note: {note}</span>
        </span>
      )}
      {tags.length > 0 && (
        <span className="flex min-w-0 shrink gap-x-1" title={tags.join(", ")}>
          {tags.slice(0, 2).map((tag, index) => (
            <Name
              key={tag}
              className={cn(
                "max-w-28 truncate rounded border border-rule px-1 text-muted",
                index > 0 && "max-sm:hidden",
              )}
            >
              {tag}
            </Name>
          ))}
          {tags.length > 1 && <span className="shrink-0 sm:hidden">+{tags.length - 1}</span>}
          {tags.length > 2 && <span className="shrink-0 max-sm:hidden">+{tags.length - 2}</span>}
        </span>
      )}
    </>
  );
}

function Cost({ row }: { row: SessionSummary }) {
  const { cost_usd: reported, estimated_cost_usd: estimated, turns } = row;
  if (reported === null && estimated === null)
    return <span title="The harness reports no cost, and the models have no list price">{NONE}</span>;
  const priced = row.cost_turns + row.estimated_cost_turns;
  const notes = [
    priced < turns ? `${exact(priced)} of ${exact(turns)} turns have a cost` : undefined,
    estimateText(estimated ?? 0),
  ].filter((note) => note !== undefined);
  return (
    <span title={notes.length === 0 ? undefined : notes.join("; ")}>
      {priced < turns && ">"}
      {costText((reported ?? 0) + (estimated ?? 0), estimated ?? 0)}
    </span>
  );
}

function Uncached({ row }: { row: SessionSummary }) {
  const { prompt_tokens: prompt, cached_tokens: cached, estimated_tokens: estimated } = row;
  if (prompt === 0) return NONE;
  const missed = prompt - cached;
  return (
    <span
      title={`${exact(missed)} of ${exact(prompt)} prompt tokens${
        estimated === 0 ? "" : `; ${percent(estimated / prompt)} of them are estimates`
      }`}
    >
      {estimated > 0 && "~"}
      {compact(missed)}
      <span className="block text-xs text-faint">{percent(missed / prompt)}</span>
    </span>
  );
}

/** In the order in which they stand. */
export const COLUMNS: readonly Column[] = [
  {
    id: "session",
    header: "Session",
    cell: (row) => (
      <>
        <Title row={row} />
        <span className="flex gap-x-1 text-xs text-faint">
          <Name className="max-w-3/5 shrink-0 truncate xl:hidden">{row.harness}</Name>
          <span className="xl:hidden">·</span>
          <Name className="min-w-0 truncate">{row.session}</Name>
          {row.kind !== null && <span className="shrink-0 lg:max-xl:hidden">· {row.kind}</span>}
          {row.agents > 1 && <span className="shrink-0">· {exact(row.agents)} agents</span>}
          <RowAdditions row={row} />
        </span>
      </>
    ),
  },
  {
    id: "harness",
    header: "Harness",
    cell: (row) => (
      <Name className="block truncate" title={row.harness}>
        {row.harness}
      </Name>
    ),
  },
  {
    id: "machine",
    header: "Machine",
    cell: (row) => (
      <Name className="block truncate" title={row.machine ?? undefined}>
        {row.machine ?? NONE}
      </Name>
    ),
  },
  {
    id: "repository",
    header: "Repository",
    cell: (row) => (
      <span className="block min-w-0" title={repositoryText(row) ?? undefined}>
        <Name className="block truncate">{row.repository ?? NONE}</Name>
        {row.branch !== null && <Name className="block truncate text-xs text-faint">{row.branch}</Name>}
      </span>
    ),
  },
  { id: "person", header: "Person", cell: ({ person }) => <PersonName id={person} /> },
  {
    id: "model",
    header: "Model",
    cell: (row) => (
      <Name className="block truncate" title={row.model ?? undefined}>
        {row.model ?? NONE}
      </Name>
    ),
  },
  {
    id: "status",
    header: "Status",
    cell: (row) => <SessionStatusLabel status={row.status} reason={row.end_reason} />,
  },
  {
    id: "now",
    header: "Current",
    cell: (row) => (
      <span title={row.context_tokens === null ? "not counted" : `${exact(row.context_tokens)} tokens`}>
        {row.context_tokens === null ? (
          <>
            <span className="max-lg:hidden">{NONE}</span>
            <span className="text-xs text-faint lg:hidden">not counted</span>
          </>
        ) : (
          <>
            {compact(row.context_tokens)}
            <span className="text-xs text-faint lg:block max-lg:ml-1.5">
              {row.utilization === null ? "size unknown" : percent(row.utilization)}
            </span>
          </>
        )}
      </span>
    ),
  },
  {
    id: "load",
    header: "Load",
    cell: (row) =>
      row.load === null ? (
        <span className="max-lg:hidden">{NONE}</span>
      ) : (
        <span className={`inline-flex items-center gap-1 font-semibold ${row.load >= 1 ? "text-hard" : ""}`}>
          {row.load >= 1 && <TriangleAlert aria-label="over its line" className="size-3.5" />}
          {loadPercent(row.load)}
        </span>
      ),
  },
  {
    id: "peak",
    header: "Peak",
    cell: (row) => (
      <span title={row.peak_tokens === null ? undefined : `${exact(row.peak_tokens)} tokens`}>
        {row.peak_utilization !== null
          ? percent(row.peak_utilization)
          : row.peak_tokens === null
            ? NONE
            : compact(row.peak_tokens)}
      </span>
    ),
  },
  { id: "turns", header: "Turns", cell: (row) => exact(row.turns) },
  {
    id: "boundaries",
    header: "Boundaries",
    cell: (row) => <BoundaryCounts row={row} />,
  },
  {
    id: "warnings",
    header: "Warnings",
    cell: (row) => (row.warnings === 0 ? <span className="text-faint">0</span> : exact(row.warnings)),
  },
  { id: "cost", header: "Cost", cell: (row) => <Cost row={row} /> },
  { id: "uncached", header: "Not cached", cell: (row) => <Uncached row={row} /> },
  {
    id: "started",
    header: "Started",
    cell: (row) => <Ago at={row.first_at} className="text-muted" />,
  },
  {
    id: "last",
    header: "Last turn",
    cell: (row) => <Ago at={row.last_at} className="text-muted" />,
  },
];
