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
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
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
            {ended
              ? query.data.items.map((alert) => <Row key={alert.id} alert={alert} />)
              : byRule(query.data.items).map((alerts) => (
                  <RuleGroup key={alerts[0].rule.id} alerts={alerts} />
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

/** Severity, text and buttons, one above the other on a phone. */
const COLUMNS = "grid gap-x-4 gap-y-1 text-[13px] sm:grid-cols-[6rem_minmax(0,1fr)_auto]";

/** Alerts of a rule that are shown until somebody asks for all. */
const FEW = 3;

type OfRule = [AlertView, ...AlertView[]];

/** In the order of the worst alert of each rule. */
function byRule(alerts: readonly AlertView[]): OfRule[] {
  const groups = new Map<string, OfRule>();
  for (const alert of alerts) {
    const group = groups.get(alert.rule.id);
    if (group === undefined) groups.set(alert.rule.id, [alert]);
    else group.push(alert);
  }
  return [...groups.values()];
}

function RuleGroup({ alerts }: { alerts: OfRule }) {
  const [all, setAll] = useState(false);
  const [{ rule, advice }] = alerts;
  const waiting = alerts.filter(({ acknowledged_by }) => acknowledged_by === null).map(({ id }) => id);
  const shown = all ? alerts : alerts.slice(0, FEW);
  return (
    <li className="border-t py-2 first:border-t-0">
      <div className={cn("items-center", COLUMNS)}>
        <Severity severity={rule.severity} />
        <p className="wrap-anywhere">
          <Name className="font-medium">{rule.name}</Name>
          {alerts.length > 1 && <span className="text-faint"> · {plural(alerts.length, "alert")}</span>}
          {advice !== null && <span className="text-muted"> · {advice}</span>}
        </p>
        {waiting.length > 1 && (
          <div>
            <Acknowledge ids={waiting} name={`all ${waiting.length} of ${rule.name}`}>
              Acknowledge all {waiting.length}
            </Acknowledge>
          </div>
        )}
      </div>
      <ul>
        {shown.map((alert) => (
          <Row key={alert.id} alert={alert} />
        ))}
      </ul>
      {alerts.length > FEW && (
        <div className={COLUMNS}>
          <div className="sm:col-start-2">
            <Button size="small" onClick={() => setAll(!all)} aria-expanded={all}>
              {all ? `Show ${FEW}` : `Show all ${alerts.length}`}
            </Button>
          </div>
        </div>
      )}
    </li>
  );
}

function Row({ alert }: { alert: AlertView }) {
  const [silencing, setSilencing] = useState(false);
  const { rule, why, path, fired_at, phase, acknowledged_by } = alert;
  const isOpen = phase !== "resolved";
  const notes = notesOf(alert);
  return (
    <li className={cn("py-1.5 sm:items-start", COLUMNS, isOpen || "border-t first:border-t-0")}>
      {isOpen ? <span className="hidden sm:block" /> : <Severity severity={rule.severity} />}
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">
          <Link href={path} className="hover:underline">
            <Name>{subjectText(alert)}</Name>
          </Link>
        </p>
        <p className="text-muted wrap-anywhere">
          {why}
          <span className="text-xs text-faint">
            {" · "}
            {isOpen ? (
              <>
                fired <Ago at={fired_at} />
              </>
            ) : (
              `${rule.name} · ${endText(alert)}`
            )}
            {notes.length > 0 && ` · ${notes.join(", ")}`}
          </span>
        </p>
      </div>
      {isOpen && (
        <div className="flex gap-2">
          {acknowledged_by === null && (
            <Acknowledge ids={[alert.id]} name={`${rule.name}: ${subjectText(alert)}`}>
              Acknowledge
            </Acknowledge>
          )}
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

function Acknowledge({
  ids,
  name,
  children,
}: {
  ids: readonly string[];
  name: string;
  children: React.ReactNode;
}) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const acknowledge = useMutation(
    trpc.alerts.acknowledge.mutationOptions({ onSuccess: refresh, onError: failed("acknowledge the alert") }),
  );
  return (
    <Button
      size="small"
      disabled={acknowledge.isPending}
      onClick={() => acknowledge.mutate({ ids: [...ids] })}
      aria-label={`Acknowledge ${name}`}
    >
      <Check aria-hidden /> {children}
    </Button>
  );
}
