/** @jsxImportSource #jsx */
"use client";

import { isDifferent, verdictText } from "@plimsoll/fold";
import { lineCauseText } from "@plimsoll/harnesses/lines";
import type { ObservedHarnessLine } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { compact, exact, NONE, plural, signed } from "../format.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { byDifference, lineDifference } from "./line-difference.ts";

/** Rows that are shown at first. */
const FEW = 8;

/** Where each harness really compacts, beside its own line and the line that judges it; the greatest difference first. */
export function CompactionLines() {
  const query = useQuery(useTRPC().harnessLines.queryOptions({}));
  const lines = query.data === undefined ? [] : byDifference(query.data.lines);
  const rest = lines.slice(FEW);
  return (
    <Section
      id="compaction-lines"
      title="Where harnesses compact"
      note="From compactions of the last 30 days that harnesses began by themselves. The difference is what was observed minus the harness's own line, or minus the policy if it has none."
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="where harnesses compact" className="h-24" />
      ) : lines.length === 0 ? (
        <p className="text-[13px] text-muted">No harness has compacted by itself in 30 days.</p>
      ) : (
        <>
          <Rows lines={lines.slice(0, FEW)} />
          {rest.length > 0 && (
            <details>
              <summary className="w-fit cursor-pointer py-1 text-[13px] text-accent">
                {plural(rest.length, "more row")}
              </summary>
              <Rows lines={rest} />
            </details>
          )}
        </>
      )}
    </Section>
  );
}

function Rows({ lines }: { lines: readonly ObservedHarnessLine[] }) {
  return (
    <ul>
      {lines.map((line) => (
        <Row key={`${line.harness}\n${line.model}\n${line.window_tokens}\n${line.sub_agents}`} line={line} />
      ))}
    </ul>
  );
}

function Row({ line }: { line: ObservedHarnessLine }) {
  const { harness, model, window_tokens: size, sub_agents: isSubAgents, observed, judged_by: judged } = line;
  const differs = isDifferent(line.verdict);
  const difference = lineDifference(line);
  const verdict = verdictText(line.line, line);
  return (
    <li data-testid="compaction-line" className="border-t py-2 text-[13px] first:border-t-0">
      <p className="wrap-anywhere">
        <Name className="font-medium">{harness}</Name>{" "}
        <span className="text-muted">
          · {model}
          {size !== null && ` · ${compact(size)} window`}
          {isSubAgents && " · sub-agents"}
        </span>
      </p>
      <dl className="mt-1 grid grid-cols-4 gap-x-2">
        <Figure label="Own line" tokens={line.line?.tokens ?? null} />
        <Figure
          label="Observed"
          tokens={observed.median}
          title={`Median of ${plural(observed.falls, "compaction")}, ${exact(observed.lowest)} to ${exact(observed.highest)} tokens`}
        />
        <Figure
          label={judged === null || judged.source === "default" ? "Default" : "Policy"}
          tokens={judged?.tokens ?? null}
          {...(judged !== null && { title: `${judged.threshold}: ${exact(judged.tokens)} tokens` })}
        />
        <div>
          <dt className="text-xs text-faint">Difference</dt>
          <dd className={cn("font-medium", differs && "text-warn-ink")}>
            {difference === undefined ? NONE : signed(difference, compact)}
          </dd>
        </div>
      </dl>
      {differs && (
        <p className="mt-0.5 text-xs text-muted wrap-anywhere">
          {[verdict, ...line.causes.slice(0, 1).map((cause) => lineCauseText(cause, harness))]
            .filter((text) => text !== "")
            .join(" ")}
        </p>
      )}
    </li>
  );
}

function Figure({ label, tokens, title }: { label: string; tokens: number | null; title?: string }) {
  return (
    <div title={title}>
      <dt className="text-xs text-faint">{label}</dt>
      <dd>{tokens === null ? NONE : compact(tokens)}</dd>
    </div>
  );
}
