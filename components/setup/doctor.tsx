"use client";

import { useQuery } from "@tanstack/react-query";
import { Check, Stethoscope, TriangleAlert } from "lucide-react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/states.tsx";
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
        {report !== undefined && (
          <ul className="text-[13px]">
            {report.checks.map(({ name, ok, message }) => (
              <li key={name} className="flex gap-2.5 border-t py-1.5 first:border-t-0">
                {ok ? (
                  <Check aria-label="passed" className="mt-0.5 size-4 shrink-0 text-ok" />
                ) : (
                  <TriangleAlert aria-label="failed" className="mt-0.5 size-4 shrink-0 text-hard" />
                )}
                <span>
                  <span className="font-medium">{name}</span> <span className="text-muted">{message}</span>
                </span>
              </li>
            ))}
          </ul>
        )}
        {report === undefined && !query.isError && (
          <p className="text-[13px] text-muted">
            {query.isFetching ? "Checking stored data." : "Not run yet."}
          </p>
        )}
      </div>
    </Section>
  );
}
