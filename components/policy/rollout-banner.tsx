/** @jsxImportSource #jsx */
"use client";

import type { RolloutView, WholePolicy } from "@plimsoll/protocol/api";
import type { RolloutAction } from "@plimsoll/protocol/policy";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ago, Remaining } from "../clock.tsx";
import { plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { FormError } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { toast } from "../ui/toast.ts";
import { haltText, isRefused, progressText, riseText, stageText, WAITS } from "./rollout-text.ts";

/** Milliseconds between two looks at a rollout that only time moves. */
const LOOK_MS = 5_000;

/** The rollout that is under way or halted, and what can be done with it. Nothing while there is none. */
export function RolloutBanner({ onSaved }: { onSaved: (saved: WholePolicy) => void }) {
  const { data } = useQuery(
    useTRPC().policies.rollout.queryOptions(undefined, {
      refetchInterval: ({ state }) => (state.data?.rollout?.state === "running" ? LOOK_MS : false),
    }),
  );
  const rollout = data?.rollout ?? undefined;
  if (rollout === undefined || (rollout.state !== "running" && rollout.state !== "halted")) return null;
  return <Banner rollout={rollout} onSaved={onSaved} />;
}

function Banner({ rollout, onSaved }: { rollout: RolloutView; onSaved: (saved: WholePolicy) => void }) {
  const { generation, stage, stages, state, rejected } = rollout;
  const isHalted = state === "halted";
  return (
    <section
      aria-label={`Rollout of generation ${generation}`}
      className={`panel min-w-0 border-l-4 p-5 ${isHalted ? "border-l-hard" : "border-l-accent"}`}
      data-testid="rollout"
    >
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0 flex-1 basis-72">
          <h2 className="text-[15px] font-semibold">
            {isHalted ? `Generation ${generation} is halted` : `Generation ${generation} is being rolled out`}
          </h2>
          <p className="mt-0.5 text-[13px] text-muted" role="status">
            {isHalted && <span className="text-hard">Halted because {haltText(rollout.halt_reason)}. </span>}
            Step {stage + 1} of {stages.length}: offered to {stageText(stages[stage]!)}.{" "}
            {progressText(rollout)} <Next rollout={rollout} />
          </p>
        </div>
        <Actions rollout={rollout} onSaved={onSaved} />
      </div>
      <div className="mt-3 flex gap-1" aria-hidden>
        {stages.map((one, index) => (
          <span
            key={`${one.share}-${one.harnesses.length}`}
            className={`h-1.5 flex-1 rounded-full ${index > stage ? "bg-track" : isHalted ? "bg-hard" : "bg-accent"}`}
          />
        ))}
      </div>
      {rejected.length > 0 && (
        <ul className="mt-3 text-[13px]">
          {rejected.map(({ instance, message, code }) => (
            <li key={instance} className="wrap-anywhere">
              <Name className="font-medium">{instance}</Name> rejected it:{" "}
              {message ?? code ?? "without a reason"}
            </li>
          ))}
        </ul>
      )}
      {rollout.restarts.since.turns > 0 && (
        <p className="mt-2 text-xs text-muted">
          Since they run it: {riseText("restart", rollout.restarts)};{" "}
          {riseText("crossing", rollout.crossings)}.
        </p>
      )}
    </section>
  );
}

/** What the next step waits for. */
function Next({ rollout }: { rollout: RolloutView }) {
  const { waits_for, next_at, since, state } = rollout;
  if (isRefused(rollout))
    return (
      <>
        {WAITS.next_set} {wayOut(rollout)}
      </>
    );
  if (state === "halted")
    return (
      <>
        The step began <Ago at={since} />.
      </>
    );
  if (waits_for !== null && waits_for !== "bake") return <>{WAITS[waits_for]}</>;
  if (next_at === null) return null;
  return (
    <>
      Next step <Remaining until={next_at} />.
    </>
  );
}

/** Whether time alone may not lead on. */
const isStuck = (rollout: RolloutView) =>
  isRefused(rollout) || (rollout.waits_for !== null && rollout.waits_for !== "bake");

/** Where a version goes that each of its harnesses rejected. */
function wayOut({ next_set, previous }: RolloutView): string {
  const next =
    next_set === 0 ? undefined : `offer it to ${plural(next_set, "other harness", "other harnesses")}`;
  const back = previous === null ? "save another version" : "roll it back";
  return next === undefined ? `You can ${back}.` : `You can ${next}, or ${back}.`;
}

function Actions({ rollout, onSaved }: { rollout: RolloutView; onSaved: (saved: WholePolicy) => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { generation, previous, stage, state, next_set } = rollout;
  // Also after a failure: somebody else, or time, was faster.
  const refresh = () => client.invalidateQueries({ queryKey: trpc.policies.pathKey() });
  const change = useMutation(trpc.policies.changeRollout.mutationOptions({ onSettled: refresh }));
  const rollback = useMutation(
    trpc.policies.rollback.mutationOptions({
      onSuccess: (saved) => {
        toast.success(`Generation ${previous} is saved again as generation ${saved.generation}.`);
        onSaved(saved);
        return client.invalidateQueries();
      },
    }),
  );
  const isBusy = change.isPending || rollback.isPending;
  const act = (action: RolloutAction) => change.mutate({ generation, stage, action });
  const error = change.error ?? rollback.error;
  return (
    <div>
      <div className="flex flex-wrap gap-2">
        {state === "running" ? (
          <>
            <Button disabled={isBusy} onClick={() => act("advance")}>
              Advance now
            </Button>
            <Button disabled={isBusy} onClick={() => act("halt")}>
              Halt
            </Button>
          </>
        ) : (
          !isRefused(rollout) && (
            <Button disabled={isBusy} onClick={() => act("resume")}>
              Resume
            </Button>
          )
        )}
        {isStuck(rollout) && next_set > 0 && (
          <Button disabled={isBusy} onClick={() => act("next_set")}>
            Try {plural(next_set, "other")}
          </Button>
        )}
        {previous !== null && (
          <Button
            look={state === "halted" ? "primary" : "plain"}
            disabled={isBusy}
            onClick={() =>
              rollback.mutate({
                generation: previous,
                expected: generation,
                reason: `Rolls back generation ${generation}${state === "halted" ? `: ${haltText(rollout.halt_reason)}` : ""}`,
              })
            }
          >
            Roll back
          </Button>
        )}
      </div>
      {error !== null && <FormError>{error.message}</FormError>}
    </div>
  );
}
