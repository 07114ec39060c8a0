/** @jsxImportSource #jsx */
"use client";

import type { RolloutPlan } from "@plimsoll/protocol/policy";
import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { Radios } from "../ui/radios.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { lengthText, reachText } from "./rollout-text.ts";

type Strategy = RolloutPlan["strategy"];

const STRATEGIES = [
  { value: "all_at_once", label: "all harnesses at once" },
  { value: "canary", label: "some first, then the rest" },
  { value: "linear", label: "more in each step" },
] as const satisfies readonly { value: Strategy; label: string }[];

const SHARES = ["0.05", "0.1", "0.2", "0.25", "0.5"] as const;
const BAKES = ["60", "300", "600", "1800", "3600", "14400", "86400"] as const;

const shareOptions = SHARES.map((value) => ({ value, label: `${Number(value) * 100}%` }));
const bakeOptions = BAKES.map((value) => ({ value, label: lengthText(Number(value)) }));

export interface RolloutDraft {
  strategy: Strategy;
  share: (typeof SHARES)[number];
  bake: (typeof BAKES)[number];
}

export const AT_ONCE: RolloutDraft = { strategy: "all_at_once", share: "0.1", bake: "600" };

/** What the server is asked for; undefined for the default. */
export function planOf({ strategy, share, bake }: RolloutDraft) {
  if (strategy === "all_at_once") return undefined;
  return { strategy, share: Number(share), bake_s: Number(bake) };
}

/** Who gets a version first, and for how long they are watched. */
export function RolloutChoice({
  value,
  onChange,
}: {
  value: RolloutDraft;
  onChange: (value: RolloutDraft) => void;
}) {
  const { strategy } = value;
  const { data } = useQuery(useTRPC().policies.harnesses.queryOptions());
  return (
    <>
      <Radios
        legend="Reaches"
        value={strategy}
        options={STRATEGIES}
        onChange={(next) => onChange({ ...value, strategy: next })}
      />
      {strategy !== "all_at_once" && (
        <>
          <div className="mt-2 flex flex-wrap items-center gap-2 text-[13px] text-muted">
            <span>{strategy === "canary" ? "First" : "In each step"}</span>
            <SelectMenu
              name="Share of the harnesses"
              value={value.share}
              options={shareOptions}
              onChange={(share) => onChange({ ...value, share })}
            />
            <span>
              {strategy === "canary" ? "of the harnesses, the rest after" : "more of the harnesses, every"}
            </span>
            <SelectMenu
              name="Time to watch them"
              value={value.bake}
              options={bakeOptions}
              onChange={(bake) => onChange({ ...value, bake })}
            />
          </div>
          {data !== undefined && (
            <p className="mt-1.5 text-[13px]" role="status">
              {reachText(Number(value.share), data.connected)}
            </p>
          )}
          <p className="mt-1.5 text-xs text-muted">
            It goes on once one of them has applied it. It halts if one rejects it, or if restarts or
            crossings become more than twice as frequent.
          </p>
        </>
      )}
    </>
  );
}
