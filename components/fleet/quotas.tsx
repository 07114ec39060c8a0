/** @jsxImportSource #jsx */
"use client";

import { quotaName } from "@plimsoll/fold";
import type { QuotaView } from "@plimsoll/protocol/api";
import { useState } from "react";
import type { LevelState } from "../charts/level.ts";
import { useMinute, useZone } from "../clock.tsx";
import { ago, exact } from "../format.ts";
import { usePeopleNames } from "../people/use-people-names.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { elapsedShare, quotaOwner, quotaReason, quotaText } from "./quota-words.ts";

/** Quotas that are shown at first: those that end first. */
const FEW = 4;
/** Percent from which a quota is close to its end. */
const CLOSE = 80;

const at = (share: number) => `${(share * 100).toFixed(2)}%`;

/** A thin hull for each limit of the accounts. */
export function Quotas({ quotas }: { quotas: readonly QuotaView[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? quotas : quotas.slice(0, FEW);
  const hidden = quotas.length - FEW;
  return (
    <section
      aria-label="Quotas"
      data-testid="quotas"
      className="panel mb-3 flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2"
    >
      <ul className="grid min-w-0 flex-1 grid-cols-[repeat(auto-fit,minmax(min(230px,100%),1fr))] gap-x-6 gap-y-1.5 max-sm:basis-full">
        {shown.map((quota) => (
          <Quota
            key={JSON.stringify([quota.provider, quota.limit, quota.window_minutes, quota.owner])}
            {...{ quota, quotas }}
          />
        ))}
      </ul>
      {hidden > 0 && (
        <Button size="small" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Show first ${FEW}` : `Show ${exact(hidden)} more`}
        </Button>
      )}
    </section>
  );
}

function Quota({ quota, quotas }: { quota: QuotaView; quotas: readonly QuotaView[] }) {
  const minute = useMinute();
  const zone = useZone();
  const owner = quotaOwner(quota, quotas, usePeopleNames());
  const state = stateOf(quota, minute);
  const elapsed = elapsedShare(quota, minute);
  const text = quotaText(quota, minute, zone);
  const used = `${exact(quota.used_percent)}%`;
  const title = [
    `${used} used, read ${ago(Date.parse(quota.read_at), minute)}.`,
    elapsed === undefined
      ? ""
      : `The mark is at the ${at(elapsed).replace(/\.\d+/, "")} of the window that have passed.`,
  ].join(" ");
  return (
    <li className="min-w-0" data-testid="quota" data-state={state} title={title}>
      <div className="flex items-baseline gap-x-2 text-[13px] leading-4">
        <span className="min-w-0 truncate">
          <Name>{quotaName(quota)}</Name>
          {owner !== undefined && (
            <span className="text-muted">
              {" "}
              · <Name>{owner}</Name>
            </span>
          )}
        </span>
        <span className={cn("ml-auto shrink-0 font-semibold", COLOURS[state])}>{used}</span>
      </div>
      <div className="hull hull-thin" aria-hidden>
        <div className="hull-track">
          <div className="hull-body w-full" />
          <div
            className="hull-level"
            data-fill={state}
            style={{ width: at(Math.min(1, quota.used_percent / 100)) }}
          />
        </div>
        {elapsed !== undefined && <span className="hull-mark" style={{ left: at(elapsed) }} />}
      </div>
      <div className="text-xs leading-4 text-muted">{text}</div>
    </li>
  );
}

/** As of an agent's level, so that both hulls read the same. */
function stateOf(quota: QuotaView, now: number): LevelState {
  const reason = quotaReason(quota, now);
  if (reason === "reset") return "unknown";
  if (reason === "used_up") return "danger";
  if (reason === "rising") return "over";
  return quota.used_percent >= CLOSE ? "warning" : "under";
}

const COLOURS: Readonly<Record<LevelState, string>> = {
  unknown: "text-muted",
  suspect: "text-muted",
  under: "text-ink",
  warning: "text-warn-ink",
  over: "text-line",
  danger: "text-hard",
};
