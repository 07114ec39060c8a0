/** @jsxImportSource #jsx */
"use client";

import type { FleetStatus, SuspectSession } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { CircleHelp } from "lucide-react";
import { compact, percent, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { sourceText } from "../words.ts";
import { useFleetQueries } from "./use-fleet-queries.ts";
import { useSessionsHref } from "./use-sessions-href.ts";

/** Names sessions whose window size must be wrong, and where to set it. Empty if there are none. */
export function SuspectNotice() {
  const { data } = useQuery({ ...useFleetQueries().status, select: ({ suspects }) => suspects });
  return data === undefined || data.count === 0 ? null : <Notice suspects={data} />;
}

function Notice({ suspects: { count, sessions } }: { suspects: FleetStatus["suspects"] }) {
  const hrefTo = useSessionsHref();
  return (
    <section
      aria-label="Wrong window sizes"
      data-testid="suspects"
      className="panel mb-4 flex flex-wrap items-start gap-x-3 gap-y-1 border-warn px-4 py-2.5 text-[13px]"
    >
      <CircleHelp aria-hidden className="mt-0.5 size-4 shrink-0 text-warn-ink" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {plural(count, "session")} above 100% of {count === 1 ? "its" : "their"} window, so the window size
          is wrong
        </p>
        <p className="text-muted">
          The peak leaves {count === 1 ? "it" : "them"} out.{" "}
          {byModel(sessions).map((session) => (
            <Suspect key={session.model ?? session.session_id} session={session} />
          ))}
        </p>
      </div>
      <Link
        href={hrefTo({ sort: "peak_utilization" })}
        className="shrink-0 text-accent underline underline-offset-2"
      >
        View sessions
      </Link>
    </section>
  );
}

function Suspect({ session }: { session: SuspectSession }) {
  const { model, peak_tokens: peak, window_tokens: window, window_source: source } = session;
  return (
    <span className="mr-2 wrap-anywhere">
      {model ?? "An unnamed model"}: {compact(peak)} of {compact(window)} ({percent(peak / window)}), size{" "}
      {sourceText(source)}.{" "}
      {model !== null && source !== "reported" && (
        <Link
          href={`/setup?model=${encodeURIComponent(model)}#windows`}
          className="text-accent underline underline-offset-2"
        >
          Set the size
        </Link>
      )}
      {source === "reported" && "Correct it in the harness."}
    </span>
  );
}

/** The latest session of each model. */
function byModel(sessions: readonly SuspectSession[]): SuspectSession[] {
  const models = new Map<string | null, SuspectSession>();
  for (const session of sessions) if (!models.has(session.model)) models.set(session.model, session);
  return [...models.values()];
}
