/** @jsxImportSource #jsx */
"use client";

import type { PolicyHarnessView } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { Ago } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { differenceText, STATE_LOOKS, stateText } from "./harness-text.ts";

/** How far each harness instance is with the policy that it is offered. */
export function HarnessStates({ onAdjust }: { onAdjust: (instance: string) => void }) {
  const query = useQuery(useTRPC().policies.harnesses.queryOptions());
  const { data } = query;
  return (
    <Section
      id="harnesses"
      title="Harnesses"
      note="A policy is in force for a harness from the moment it acknowledges it. One that takes no policies is judged by the lines it reports."
    >
      {data === undefined ? (
        <NotLoaded query={query} what="the harnesses" className="h-24" />
      ) : data.harnesses.length === 0 ? (
        <p className="text-[13px] text-muted">No harness has sent events yet.</p>
      ) : (
        <>
          <Progress harnesses={data.harnesses} />
          <ul data-testid="policy-harnesses">
            {data.harnesses.map((harness) => (
              <HarnessRow key={harness.instance} harness={harness} onAdjust={onAdjust} />
            ))}
          </ul>
          {data.more > 0 && <p className="mt-2 text-[13px] text-muted">and {exact(data.more)} more</p>}
        </>
      )}
    </Section>
  );
}

/** How many of those that take policies run the one they are offered. */
function Progress({ harnesses }: { harnesses: readonly PolicyHarnessView[] }) {
  const managed = harnesses.filter(({ state }) => state !== "unmanaged" && state !== "no_policy");
  if (managed.length === 0) return null;
  const there = managed.filter(({ state }) => state === "applied" || state === "overridden").length;
  return (
    <div className="mb-2">
      <div className="h-1.5 overflow-hidden rounded-full bg-track" aria-hidden>
        <div className="h-full bg-accent" style={{ width: `${(there / managed.length) * 100}%` }} />
      </div>
      <p className="mt-1 text-xs text-muted" role="status">
        {there} of {plural(managed.length, "harness", "harnesses")} that{" "}
        {managed.length === 1 ? "takes policies runs the one it is" : "take policies run the one they are"}{" "}
        offered
      </p>
    </div>
  );
}

function HarnessRow({
  harness,
  onAdjust,
}: {
  harness: PolicyHarnessView;
  onAdjust: (instance: string) => void;
}) {
  const { instance, state, said, running, desired, not_effective: elsewhere } = harness;
  return (
    <li className="border-t py-2 text-[13px] first:border-t-0">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <button
          type="button"
          onClick={() => onAdjust(instance)}
          title="Adjust its policy"
          className="min-w-0 text-left font-medium wrap-anywhere underline decoration-edge underline-offset-2 hover:decoration-ink"
        >
          <Name>{instance}</Name>
        </button>
        <span className={cn("inline-flex items-center gap-1.5", STATE_LOOKS[state])}>
          <span aria-hidden className="size-1.5 rounded-full bg-current" />
          {stateText(harness)}
        </span>
        <span className="ml-auto text-xs text-faint">
          {running !== null &&
            (running === desired.generation
              ? `generation ${running}`
              : `runs generation ${running} of ${desired.generation}`)}
          {!harness.online && (
            <>
              {running !== null && ", "}offline, last event <Ago at={harness.last_at} />
            </>
          )}
        </span>
      </div>
      {harness.clock !== null && <p className="text-xs text-hard wrap-anywhere">{harness.clock}</p>}
      {said?.message != null && <p className="text-xs text-muted wrap-anywhere">{said.message}</p>}
      {said?.differences.map((difference) => (
        <p key={difference.path} className="text-xs text-muted wrap-anywhere">
          {differenceText(difference)}
        </p>
      ))}
      {elsewhere !== null && (
        <p className="text-xs text-hard">
          Not effective: {plural(elsewhere.compactions, "compaction")} at {Math.round(elsewhere.median * 100)}
          % of the line it acknowledged
        </p>
      )}
    </li>
  );
}
