/** @jsxImportSource #jsx */
"use client";

import type { AlertPage, AlertView } from "@plimsoll/protocol/api";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { BellOff, Check, ChevronDown } from "lucide-react";
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
import { AlertFilters, useAlertFilters } from "./alert-filters.tsx";
import { endText, notesOf, placesText, subjectText } from "./alert-text.ts";
import { alertsInput } from "./filters.ts";
import { Severity } from "./severity.tsx";
import { SilenceDialog } from "./silence-dialog.tsx";
import { useAlertAction } from "./use-alert-action.ts";

/** Alerts up to which each is shown. With more, a rule is one row until somebody opens it. */
const FEW_IN_ALL = 10;
/** Rules that are listed until somebody asks for all. */
const FEW_RULES = 12;

/** The alerts that the filters select. */
export function Firing() {
  const [filters] = useAlertFilters();
  const query = useQuery({
    ...useTRPC().alerts.list.queryOptions(alertsInput(filters)),
    placeholderData: keepPreviousData,
  });
  const ended = filters.state === "ended";
  return (
    <Section
      id="firing"
      title={ended ? "Ended" : "Firing"}
      note={ended ? "Alerts that have ended, newest first." : "Alerts that fire, most severe first."}
    >
      <AlertFilters />
      {query.data === undefined ? (
        <NotLoaded query={query} what="the alerts" className="h-24" />
      ) : (
        <List page={query.data} ended={ended} />
      )}
    </Section>
  );
}

function List({ page: { items, firing, selected }, ended }: { page: AlertPage; ended: boolean }) {
  const [all, setAll] = useState(false);
  const shown = ended ? items.length : (selected ?? 0);
  if (items.length === 0) {
    if (ended) return <EmptyState title="No such alert has ended" />;
    return <EmptyState title={firing === 0 ? "Nothing fires" : `None of ${plural(firing, "alert")} match`} />;
  }
  const rules = ended ? [] : byRule(items);
  return (
    <>
      {!ended && shown < firing && (
        <p className="mb-1 text-[13px] text-muted" role="status">
          {shown} of {plural(firing, "alert")}
        </p>
      )}
      <ul aria-label={ended ? "Ended alerts" : "Firing alerts"}>
        {ended
          ? items.map((alert) => <Row key={alert.id} alert={alert} />)
          : (all ? rules : rules.slice(0, FEW_RULES)).map((alerts) => (
              <RuleGroup key={alerts[0].rule.id} alerts={alerts} isFolded={items.length > FEW_IN_ALL} />
            ))}
      </ul>
      {rules.length > FEW_RULES && (
        <Button size="small" className="mt-1" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? `Show ${FEW_RULES} rules` : `Show all ${rules.length} rules`}
        </Button>
      )}
      {shown > items.length && (
        <p className="mt-2 text-[13px] text-muted">
          and {plural(shown - items.length, "more", "more")}. Filter to see them.
        </p>
      )}
    </>
  );
}

/** Severity, text and buttons, one above the other on a phone. */
const COLUMNS = "grid gap-x-4 gap-y-1 text-[13px] sm:grid-cols-[6rem_minmax(0,1fr)_auto]";

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

function RuleGroup({ alerts, isFolded }: { alerts: OfRule; isFolded: boolean }) {
  const [open, setOpen] = useState(false);
  const [{ rule, advice, fired_at }] = alerts;
  const waiting = alerts.filter(({ acknowledged_by }) => acknowledged_by === null).map(({ id }) => id);
  const shown = open || !isFolded;
  const places = placesText(alerts);
  return (
    <li className="border-t py-1.5 first:border-t-0">
      <div className={cn("items-center", COLUMNS)}>
        <Severity severity={rule.severity} />
        <p className="wrap-anywhere">
          <Name className="font-medium">{rule.name}</Name>
          {alerts.length > 1 && <span className="text-muted"> · {plural(alerts.length, "alert")}</span>}
          {!shown && (
            <span className="text-faint">
              {places !== null && ` · ${places}`}
              {" · "}
              {alerts.length > 1 && "first "}
              <Ago at={fired_at} />
              {waiting.length < alerts.length && ` · ${alerts.length - waiting.length} acknowledged`}
            </span>
          )}
          {shown && advice !== null && <span className="text-muted"> · {advice}</span>}
        </p>
        <div className="flex gap-2">
          {waiting.length > 1 && (
            <Acknowledge ids={waiting} name={`all ${waiting.length} of ${rule.name}`}>
              Acknowledge all {waiting.length}
            </Acknowledge>
          )}
          {isFolded && (
            <Button
              size="small"
              onClick={() => setOpen(!open)}
              aria-expanded={open}
              aria-label={`${open ? "Hide" : "Show"} ${plural(alerts.length, "alert")} of ${rule.name}`}
            >
              {open ? "Hide" : "Show"}
              <ChevronDown aria-hidden className={cn("text-faint", open && "rotate-180")} />
            </Button>
          )}
        </div>
      </div>
      {shown && (
        <ul>
          {alerts.map((alert) => (
            <Row key={alert.id} alert={alert} />
          ))}
        </ul>
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
