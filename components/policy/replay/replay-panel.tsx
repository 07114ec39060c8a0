/** @jsxImportSource #jsx */
"use client";

import type { PolicyBody } from "@plimsoll/protocol/policy";
import { useState } from "react";
import { exact, plural } from "../../format.ts";
import { Section } from "../../setup/section.tsx";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/field.tsx";
import { SelectMenu } from "../../ui/select-menu.tsx";
import { policyText } from "../policy-text.ts";
import { type EditedScope, scopeText } from "../scope-key.ts";
import { ReplayResultView } from "./replay-result.tsx";
import { filterOf } from "./replay-text.ts";
import { type Replay, useReplay } from "./use-replay.ts";

const DAY = 86_400_000;
const RANGES = [
  { value: "1", label: "last 24 hours" },
  { value: "7", label: "last 7 days" },
  { value: "30", label: "last 30 days" },
  { value: "90", label: "last 90 days" },
] as const;
type Range = (typeof RANGES)[number]["value"];

/** Replays a draft over recorded turns, beside what happened and the current policy. */
export function ReplayPanel({ policy, scope }: { policy: PolicyBody | undefined; scope: EditedScope }) {
  const replay = useReplay();
  const [days, setDays] = useState<Range>("7");
  const [whom, setWhom] = useState<"scope" | "all">("scope");
  const isOld =
    replay.candidate !== undefined &&
    (policy === undefined || policyText(policy) !== policyText(replay.candidate));
  const result = replay.view?.result ?? undefined;

  function start() {
    if (policy === undefined) return;
    const to = Date.now();
    replay.start(policy, {
      from: new Date(to - Number(days) * DAY).toISOString(),
      to: new Date(to).toISOString(),
      ...(whom === "scope" ? filterOf(scope) : {}),
    });
  }

  return (
    <Section
      id="replay"
      title="Replay"
      note="What the draft would have done to recorded turns, before you save it."
      action={
        <div className="flex flex-wrap gap-2">
          {scope !== undefined && (
            <SelectMenu
              name="Agents"
              value={whom}
              options={[
                { value: "scope", label: scopeText(scope) },
                { value: "all", label: "all agents" },
              ]}
              onChange={setWhom}
            />
          )}
          <SelectMenu name="Range" value={days} options={RANGES} onChange={setDays} />
          {replay.isRunning ? (
            <Button onClick={replay.cancel}>Cancel</Button>
          ) : (
            <Button disabled={policy === undefined} onClick={start}>
              {replay.candidate === undefined ? "Replay" : "Replay again"}
            </Button>
          )}
        </div>
      }
    >
      <Progress replay={replay} />
      {!replay.isRunning && replay.error !== null && <FormError>{replay.error.message}</FormError>}
      {!replay.isRunning && replay.view?.state === "cancelled" && (
        <p className="text-[13px] text-muted">Cancelled.</p>
      )}
      {result !== undefined && result.turns === 0 && (
        <p className="text-[13px] text-muted">No turns are recorded in this range. Choose a longer one.</p>
      )}
      {result !== undefined && result.turns > 0 && (
        <>
          {isOld && (
            <p className="mb-2 text-[13px] text-warn-ink" role="status">
              The draft has changed since. Replay it again for new numbers.
            </p>
          )}
          <ReplayResultView key={replay.view!.id} id={replay.view!.id} result={result} />
        </>
      )}
    </Section>
  );
}

function Progress({ replay: { isRunning, view } }: { replay: Replay }) {
  const { done = 0, total = null } = view ?? {};
  // Announced at its start and end; the bar says the rest.
  return (
    <>
      <p className="sr-only" role="status">
        {isRunning ? "Replaying" : view?.state === "done" ? "The replay is done" : ""}
      </p>
      {isRunning && (
        <div className="mb-2">
          <progress
            aria-label="Turns replayed"
            className="block h-1.5 w-full overflow-hidden rounded-full accent-accent"
            value={total === null || total === 0 ? undefined : done / total}
          />
          <p className="mt-1 text-xs text-muted">
            {total === null ? "Counting turns" : `${exact(done)} of ${plural(total, "turn")}`}
          </p>
        </div>
      )}
    </>
  );
}
