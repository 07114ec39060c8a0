/** @jsxImportSource #jsx */
"use client";

import type {
  QualityBandView,
  QualityGroupView,
  QualitySplitView,
  QualityView,
} from "@plimsoll/protocol/api";
import { OUTCOME_SIGNALS, type OutcomeSignal } from "@plimsoll/protocol/pure";
import { parseAsStringLiteral, useQueryState } from "nuqs";
import { useState } from "react";
import { compact, exact, NONE, plural } from "../format.ts";
import { ceilingHref } from "../policy/scope-key.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { InsightPanel } from "./insight-panel.tsx";
import { bandText, differenceText, groupText, rateText, SIGNAL_WORDS, unitOf } from "./quality-words.ts";

interface Props {
  /** Undefined while loading. */
  quality: QualityView | undefined;
  signal: OutcomeSignal;
  onSignal: (signal: OutcomeSignal) => void;
  /** Why it failed to load; null if it did not. */
  error: unknown;
  retry: () => void;
}

const HINT =
  "Long sessions are hard ones, and fail more often at every level. So a session is only compared with itself, and a call with calls at the same place in other sessions. The difference holds in 95 of 100 resamples of the sessions. Only a certain rise is not grey.";
/** What a lower line may make better. */
const OF_WORK: ReadonlySet<OutcomeSignal> = new Set(["failed", "repeated", "reedited", "failed_tests"]);
const BY = ["level", "share"] as const;

/** From which level on an agent's work gets worse: by kind of harness and model. */
export function QualityPanel({ quality, signal, onSignal, error, retry }: Props) {
  // Those of the last answer, so that another signal can be chosen where the present one failed to load.
  const [signals, setSignals] = useState(quality?.signals);
  if (quality !== undefined && quality.signals !== signals) setSignals(quality.signals);
  const isKnown = signals?.some(({ calls }) => calls > 0);
  return (
    <InsightPanel
      title="Where quality falls"
      hint={HINT}
      what="the outcomes of tool calls"
      data={quality}
      controls={isKnown && <Signals signals={signals!} signal={signal} onSignal={onSignal} />}
      {...{ error, retry }}
    >
      {(data) => (isKnown ? <Groups quality={data} isPending={data.signal !== signal} /> : NO_OUTCOMES)}
    </InsightPanel>
  );
}

const NO_OUTCOMES = (
  <p className="mt-1 text-[13px] text-muted" data-testid="quality-none">
    No turn in this range reports the outcome of its tool calls. Recordings that are followed or imported do,
    as do telemetry of tools and the field <code>outcome</code> of a turn. Agents are counted half a minute
    after their latest event.
  </p>
);

function Signals({
  signals,
  signal,
  onSignal,
}: Pick<Props, "signal" | "onSignal"> & Pick<QualityView, "signals">) {
  const rates = new Map(signals.map((one) => [one.signal, one]));
  return (
    <>
      <fieldset className="mt-2 flex flex-wrap gap-1">
        <legend className="sr-only">What went wrong</legend>
        {OUTCOME_SIGNALS.map((one) => {
          const { calls, found } = rates.get(one)!;
          return (
            <Button
              key={one}
              size="small"
              aria-pressed={one === signal}
              look={one === signal ? "primary" : "plain"}
              title={SIGNAL_WORDS[one].hint}
              onClick={() => onSignal(one)}
            >
              {SIGNAL_WORDS[one].name}{" "}
              <span className="ml-1 font-normal">{rateText(calls === 0 ? null : found / calls)}</span>
            </Button>
          );
        })}
      </fieldset>
      <p className="mt-2 text-xs text-muted">{SIGNAL_WORDS[signal].hint}</p>
    </>
  );
}

/** @param isPending true if they are of the signal that was chosen before */
function Groups({ quality, isPending }: { quality: QualityView; isPending: boolean }) {
  const [by, setBy] = useQueryState(
    "by",
    parseAsStringLiteral(BY).withDefault("level").withOptions({ history: "replace" }),
  );
  return (
    <div aria-busy={isPending} className={cn(isPending && "opacity-60")}>
      {!quality.complete && (
        <p className="mt-1 text-xs text-muted">Only the latest 20,000 agents of the range were looked at.</p>
      )}
      {quality.groups.length === 0 ? (
        <p className="mt-3 text-[13px] text-muted">No source in this range reports this.</p>
      ) : (
        <>
          <fieldset className="mt-3 flex gap-1">
            <legend className="sr-only">By</legend>
            {BY.map((one) => (
              <Button
                key={one}
                size="small"
                aria-pressed={one === by}
                look={one === by ? "primary" : "plain"}
                onClick={() => void setBy(one)}
              >
                {one === "level" ? "By tokens" : "By share of the line"}
              </Button>
            ))}
          </fieldset>
          {quality.groups.map((group) => (
            <Group key={`${group.harness}\n${group.model}`} group={group} signal={quality.signal} by={by} />
          ))}
          {quality.more > 0 && (
            <p className="mt-3 text-xs text-faint" data-testid="quality-more">
              {plural(quality.more, "more harness and model is", "more harnesses and models are")} not listed.
              Choose a harness to see its models.
            </p>
          )}
        </>
      )}
    </div>
  );
}

function Group({
  group,
  signal,
  by,
}: {
  group: QualityGroupView;
  signal: OutcomeSignal;
  by: (typeof BY)[number];
}) {
  const { harness, model, clearest } = group;
  const [bands, splits] =
    by === "level" ? [group.levels, group.level_splits] : [group.shares, group.share_splits];
  const reached = bands.filter(({ calls }) => calls > 0);
  const name = `${harness}, ${model}`;
  return (
    <div className="mt-4 min-w-0" data-testid="quality-group">
      <h3 className="truncate text-[13px]" title={name}>
        <Name>{harness}</Name> <span className="text-muted">· {model}</span>
      </h3>
      <p
        className={cn("mt-0.5 text-[13px]", clearest === null && "text-muted")}
        data-testid="quality-sentence"
      >
        {groupText(group, signal)}
      </p>
      {clearest !== null && OF_WORK.has(signal) && (
        <p className="mt-0.5 text-[13px]">
          <Link
            href={ceilingHref({ family: harness, model }, clearest.at)}
            className="text-accent underline underline-offset-2"
          >
            Draft a ceiling of {compact(clearest.at)} tokens
          </Link>{" "}
          <span className="text-muted">to replay it, and roll it out to a part of the agents first.</span>
        </p>
      )}
      {reached.length > 0 && (
        <table
          aria-label={`${SIGNAL_WORDS[signal].name} of ${name}`}
          className="mt-1.5 w-full table-fixed text-[13px]"
        >
          <thead className="text-xs text-faint">
            <tr>
              <th scope="col" className="w-[34%] py-1 text-left font-normal @min-[560px]:w-[20%]">
                {by === "level" ? "Tokens" : "Share of the line"}
              </th>
              <th scope="col" className="text-right font-normal @max-[560px]:hidden">
                Sessions
              </th>
              <th scope="col" className="text-right font-normal @max-[560px]:hidden">
                {unitOf(signal) === "calls" ? "Calls" : "Requests"}
              </th>
              <th scope="col" className="w-[26%] pl-3 text-left font-normal @min-[560px]:w-[30%]">
                Of {unitOf(signal)}
              </th>
              <th scope="col" className="text-right font-normal @max-[560px]:hidden">
                Usual there
              </th>
              <th scope="col" className="text-right font-normal @min-[560px]:w-[22%]">
                From here on, points
              </th>
            </tr>
          </thead>
          <tbody>
            {reached.map((band) => (
              <BandRow
                key={band.from}
                band={band}
                by={by}
                most={Math.max(...reached.map(({ rate }) => rate ?? 0))}
                split={splits.find(({ at }) => at === band.from)}
              />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

interface BandRowProps {
  band: QualityBandView;
  by: (typeof BY)[number];
  /** The highest rate of the table. */
  most: number;
  /** At the band's lower end. */
  split: QualitySplitView | undefined;
}

function BandRow({ band, by, most, split }: BandRowProps) {
  const { sessions, calls, rate, expected_rate: usual } = band;
  return (
    <tr className="border-t">
      <th scope="row" className="py-1.5 pr-2 text-left font-normal">
        {bandText(band, by)}
      </th>
      <td className="text-right @max-[560px]:hidden">{exact(sessions)}</td>
      <td className="text-right @max-[560px]:hidden">{exact(calls)}</td>
      <td className="pl-3">
        <span className="flex items-center gap-2">
          <span className="w-10 shrink-0 text-right">{rateText(rate)}</span>
          <span
            aria-hidden
            className="h-2 min-w-px rounded-xs bg-accent @max-[560px]:hidden"
            style={{ width: `${most === 0 ? 0 : (65 * (rate ?? 0)) / most}%` }}
          />
        </span>
      </td>
      <td className="text-right text-muted @max-[560px]:hidden">{rateText(usual)}</td>
      <td className={cn("text-right", split?.verdict !== "rises" && "text-faint")}>
        {split === undefined ? (
          NONE
        ) : (
          <span title={`${plural(split.sessions, "session")} with calls below and above`}>
            {differenceText(split)}
            {split.verdict === "few_sessions" && (
              <span className="@max-[560px]:hidden">, {plural(split.sessions, "session")}</span>
            )}
          </span>
        )}
      </td>
    </tr>
  );
}
