/** @jsxImportSource #jsx */
"use client";

import type { DoctorCheck } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { Check, CircleDashed, Info, type LucideIcon, Stethoscope, TriangleAlert } from "lucide-react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { ErrorState } from "../ui/states.tsx";
import { type CheckOutcome, checkOutcome, verdictText } from "./doctor-outcome.ts";
import { Section } from "./section.tsx";

export function Doctor() {
  const query = useQuery(useTRPC().doctor.queryOptions(undefined, { enabled: false, gcTime: 0 }));
  const report = query.data;
  return (
    <Section
      id="doctor"
      title="Doctor"
      note="Compares stored data with its totals and lists every difference."
      action={
        <Button onClick={() => query.refetch()} disabled={query.isFetching}>
          <Stethoscope aria-hidden /> {query.isFetching ? "Checking" : "Run doctor"}
        </Button>
      }
    >
      <div aria-live="polite" data-testid="doctor">
        {query.isError && <ErrorState what="the report" error={query.error} retry={() => query.refetch()} />}
        {report !== undefined && <Report checks={report.checks} />}
        {report === undefined && !query.isError && (
          <p className="text-[13px] text-muted">
            {query.isFetching ? "Checking stored data." : "Not run yet."}
          </p>
        )}
      </div>
    </Section>
  );
}

const LOOKS: Readonly<Record<CheckOutcome, { label: string; icon: LucideIcon; look: string }>> = {
  failed: { label: "failed", icon: TriangleAlert, look: "text-hard" },
  note: { label: "note", icon: Info, look: "text-faint" },
  sample: { label: "passed for a sample", icon: CircleDashed, look: "text-ok" },
  passed: { label: "passed", icon: Check, look: "text-ok" },
};

/** The checks, then the notes: a note is no result of a check. */
function Report({ checks }: { checks: readonly DoctorCheck[] }) {
  const notes = checks.filter((check) => checkOutcome(check) === "note");
  return (
    <div className="text-[13px]">
      <p className="mb-2 font-medium">{verdictText(checks)}</p>
      <Findings checks={checks.filter((check) => !notes.includes(check))} />
      {notes.length > 0 && (
        <>
          <h3 className="mt-3 mb-1 border-t pt-3 font-medium text-muted">Notes</h3>
          <Findings checks={notes} />
        </>
      )}
    </div>
  );
}

function Findings({ checks }: { checks: readonly DoctorCheck[] }) {
  return (
    <ul>
      {checks.map((check) => {
        const outcome = checkOutcome(check);
        const { label, icon: Icon, look } = LOOKS[outcome];
        return (
          <li
            key={check.name}
            data-outcome={outcome}
            className="flex gap-2.5 border-t py-1.5 first:border-t-0"
          >
            <Icon role="img" aria-label={label} className={cn("mt-0.5 size-4 shrink-0", look)} />
            <div className="min-w-0">
              <p className={cn("first-letter:uppercase", outcome !== "note" && "font-medium")}>
                {check.name}
              </p>
              <p className="text-muted wrap-anywhere">{check.message}</p>
            </div>
          </li>
        );
      })}
    </ul>
  );
}
