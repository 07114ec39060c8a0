/** @jsxImportSource #jsx */
"use client";

import type { RolloutView, WholePolicy } from "@plimsoll/protocol/api";
import type { RolloutAction } from "@plimsoll/protocol/policy";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ago, Remaining } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { FormError } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { haltText, riseText, stageText } from "./rollout-text.ts";

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
  const { generation, stage, stages, state, applied, offered, rejected } = rollout;
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
            {offered === 0
              ? "No harness that is offered it is connected."
              : `${exact(applied)} of ${plural(offered, "harness", "harnesses")} that ${offered === 1 ? "is" : "are"} offered it ${offered === 1 ? "runs" : "run"} it.`}{" "}
            <Next rollout={rollout} />
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
              <span className="font-medium">{instance}</span> rejected it:{" "}
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
function Next({ rollout: { waits_for, next_at, since, state } }: { rollout: RolloutView }) {
  if (state === "halted")
    return (
      <>
        The step began <Ago at={since} />.
      </>
    );
  if (waits_for === "application") return <>The next step waits until one of them has applied it.</>;
  if (next_at === null) return null;
  return (
    <>
      Next step <Remaining until={next_at} />.
    </>
  );
}

function Actions({ rollout, onSaved }: { rollout: RolloutView; onSaved: (saved: WholePolicy) => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { generation, previous, stage, state } = rollout;
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
          <Button disabled={isBusy} onClick={() => act("resume")}>
            Resume
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
