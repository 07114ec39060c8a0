/** @jsxImportSource #jsx */
"use client";

import type { AlertView } from "@plimsoll/protocol/api";
import { Ago, LocalTime } from "../clock.tsx";
import { exact, fullTime } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { SESSION_ALERTS } from "../session/session-queries.ts";
import { endText, notesOf } from "./alert-text.ts";
import { Severity } from "./severity.tsx";
import type { SessionAlerts } from "./use-session-alerts.ts";

interface Props extends SessionAlerts {
  /** The agent that the page shows. */
  agentId: string;
}

/** The alerts of a session. Nothing if there are none. */
export function SessionAlertsPanel({ alerts, more, agentId }: Props) {
  if (alerts.length === 0) return null;
  return (
    <section aria-label="Alerts" className="panel px-4 py-3.5">
      <div className="mb-1.5 flex items-baseline justify-between gap-3">
        <h2 className="text-[13px] font-semibold">
          Alerts <span className="font-normal text-faint">{exact(alerts.length)}</span>
        </h2>
        <Link href="/alerts" className="text-xs text-accent underline underline-offset-2">
          All alerts
        </Link>
      </div>
      <ul aria-label="Alerts of this session" className="max-h-96 overflow-y-auto -outline-offset-2">
        {alerts.map((alert) => (
          <li key={alert.id} className="border-t py-2 text-[13px] first:border-t-0">
            <p className="flex flex-wrap items-center gap-x-2">
              <Severity severity={alert.rule.severity} />
              <Link
                href={alert.path}
                scroll={false}
                className="min-w-0 font-medium wrap-anywhere hover:underline"
              >
                {alert.rule.name}
              </Link>
              {alert.agent_id !== null && alert.agent_id !== agentId && (
                <span className="text-xs text-faint wrap-anywhere">{alert.subject.agent}</span>
              )}
            </p>
            <p className="text-muted wrap-anywhere">{alert.why}</p>
            <p className="text-xs text-faint wrap-anywhere">
              <AlertState alert={alert} />
            </p>
          </li>
        ))}
      </ul>
      {more && (
        <p className="mt-1.5 text-xs text-faint">Of those that have ended, the latest {SESSION_ALERTS}.</p>
      )}
    </section>
  );
}

/** What is known of one alert, on the chart. */
export function AlertDetails({ alert }: { alert: AlertView }) {
  const { rule, why, started_at, fired_at } = alert;
  return (
    <div className="grid gap-1">
      <Severity severity={rule.severity} />
      <div className="font-medium wrap-anywhere">{rule.name}</div>
      <div className="wrap-anywhere">{why}</div>
      <div className="text-faint">
        began <LocalTime at={started_at} format={fullTime} />
        <br />
        fired <LocalTime at={fired_at} format={fullTime} />
      </div>
      <div className="wrap-anywhere">
        <AlertState alert={alert} />
      </div>
      <Link href="/alerts" className="text-accent underline underline-offset-2">
        View all alerts
      </Link>
    </div>
  );
}

/** Since when it is open, or how it ended; and who knows of it. */
function AlertState({ alert }: { alert: AlertView }) {
  const { phase, fired_at } = alert;
  const notes = notesOf(alert);
  return (
    <>
      {phase === "resolved" ? (
        endText(alert)
      ) : (
        <>
          fired <Ago at={fired_at} />, still open
        </>
      )}
      {notes.length > 0 && ` · ${notes.join(", ")}`}
    </>
  );
}
