/** @jsxImportSource #jsx */
"use client";

import type { AlertView } from "@plimsoll/protocol/api";
import { useMutation, useQuery } from "@tanstack/react-query";
import { BellOff, Check } from "lucide-react";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState, NotLoaded } from "../ui/states.tsx";
import { endText, notesOf, subjectText } from "./alert-text.ts";
import { Severity } from "./severity.tsx";
import { SilenceDialog } from "./silence-dialog.tsx";
import { useAlertAction } from "./use-alert-action.ts";
import { FIRING_SHOWN } from "./use-firing.ts";

/** What fires now, and what has ended lately. */
export function Firing() {
  const trpc = useTRPC();
  const [ended, setEnded] = useState(false);
  const state = ended ? "ended" : "open";
  const query = useQuery(trpc.alerts.list.queryOptions({ state, limit: FIRING_SHOWN }));
  const firing = query.data?.firing ?? 0;
  return (
    <Section
      id="firing"
      title={ended ? "Ended" : "Firing"}
      note={ended ? "The latest alerts that have ended." : "Open alerts, most severe first."}
      action={<Button onClick={() => setEnded(!ended)}>{ended ? "Show firing" : "Show ended"}</Button>}
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the alerts" className="h-24" />
      ) : query.data.items.length === 0 ? (
        <EmptyState title={ended ? "No alert has ended yet" : "Nothing fires"} />
      ) : (
        <>
          <ul aria-label={ended ? "Ended alerts" : "Firing alerts"}>
            {query.data.items.map((alert) => (
              <Row key={alert.id} alert={alert} />
            ))}
          </ul>
          {!ended && firing > query.data.items.length && (
            <p className="mt-2 text-[13px] text-muted">
              and {plural(firing - query.data.items.length, "more", "more")}
            </p>
          )}
        </>
      )}
    </Section>
  );
}

function Row({ alert }: { alert: AlertView }) {
  const [silencing, setSilencing] = useState(false);
  const { rule, why, path, fired_at, phase, acknowledged_by } = alert;
  const isOpen = phase !== "resolved";
  const notes = notesOf(alert);
  return (
    <li className="grid gap-x-4 gap-y-1 border-t py-2.5 text-[13px] first:border-t-0 sm:grid-cols-[6rem_minmax(0,1fr)_auto] sm:items-start">
      <Severity severity={rule.severity} />
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">
          <Link href={path} className="hover:underline">
            {subjectText(alert)}
          </Link>
        </p>
        <p className="text-muted wrap-anywhere">{why}</p>
        <p className="text-xs text-faint wrap-anywhere">
          {rule.name} ·{" "}
          {isOpen ? (
            <>
              fired <Ago at={fired_at} />
            </>
          ) : (
            endText(alert)
          )}
          {notes.length > 0 && ` · ${notes.join(", ")}`}
        </p>
      </div>
      {isOpen && (
        <div className="flex gap-2">
          {acknowledged_by === null && <Acknowledge alert={alert} />}
          <Button
            size="small"
            onClick={() => setSilencing(true)}
            aria-label={`Silence ${rule.name}: ${subjectText(alert)}`}
          >
            <BellOff aria-hidden /> Silence
          </Button>
        </div>
      )}
      {silencing && <SilenceDialog alert={alert} onClose={() => setSilencing(false)} />}
    </li>
  );
}

function Acknowledge({ alert }: { alert: AlertView }) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const acknowledge = useMutation(
    trpc.alerts.acknowledge.mutationOptions({ onSuccess: refresh, onError: failed("acknowledge the alert") }),
  );
  return (
    <Button
      size="small"
      disabled={acknowledge.isPending}
      onClick={() => acknowledge.mutate({ ids: [alert.id] })}
      aria-label={`Acknowledge ${alert.rule.name}: ${subjectText(alert)}`}
    >
      <Check aria-hidden /> Acknowledge
    </Button>
  );
}
