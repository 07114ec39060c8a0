/** @jsxImportSource #jsx */
"use client";

import type { RetentionView } from "@plimsoll/protocol/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { plural, shortTime } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { bytesText, daysProblem, parseDays, previewText } from "./retention-text.ts";
import { Section } from "./section.tsx";

/** How long the project keeps its data, and what it takes on disk. */
export function Retention() {
  const query = useQuery(useTRPC().retention.get.queryOptions({}));
  return (
    <Section
      id="retention"
      title="Retention"
      note="By default, everything is kept for good. Sessions are removed whole, by their last event. Charts outlive them."
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the retention" className="h-40" />
      ) : (
        <>
          <RetentionForm key={`${query.data.session_days}/${query.data.rollup_days}`} stored={query.data} />
          <DiskUse {...query.data} />
        </>
      )}
    </Section>
  );
}

function RetentionForm({ stored }: { stored: RetentionView }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const [sessions, setSessions] = useState(textOf(stored.session_days));
  const [rollups, setRollups] = useState(textOf(stored.rollup_days));
  const problem = daysProblem(sessions, rollups);
  const days = { session_days: parseDays(sessions) ?? null, rollup_days: parseDays(rollups) ?? null };
  const changed = days.session_days !== stored.session_days || days.rollup_days !== stored.rollup_days;
  const preview = useQuery(
    trpc.retention.preview.queryOptions(
      { session_days: days.session_days ?? undefined, rollup_days: days.rollup_days ?? undefined },
      { enabled: problem === undefined, placeholderData: (previous) => previous },
    ),
  );
  const save = useMutation(
    trpc.retention.set.mutationOptions({
      onSuccess: (view) => {
        client.setQueryData(trpc.retention.get.queryKey({}), view);
        toast.success("Retention saved. It is applied within ten minutes.");
        return client.invalidateQueries(trpc.retention.preview.queryFilter());
      },
    }),
  );
  function submit(event: FormEvent) {
    event.preventDefault();
    if (problem === undefined) save.mutate(days);
  }
  return (
    <form onSubmit={submit}>
      <div className="grid items-end gap-3 sm:grid-cols-[1fr_1fr_auto]">
        <TextField
          label="Sessions, in days"
          inputMode="numeric"
          placeholder="for good"
          value={sessions}
          aria-describedby="retention-effect"
          aria-invalid={parseDays(sessions) === undefined}
          onChange={(event) => setSessions(event.target.value)}
        />
        <TextField
          label="Charts, in days"
          inputMode="numeric"
          placeholder="for good"
          value={rollups}
          aria-describedby="retention-effect"
          aria-invalid={problem !== undefined}
          onChange={(event) => setRollups(event.target.value)}
        />
        <Button
          type="submit"
          look="primary"
          size="field"
          disabled={!changed || problem !== undefined || save.isPending}
        >
          Save
        </Button>
      </div>
      <p id="retention-effect" role="status" className="mt-2 min-h-5 text-[13px] text-muted">
        {problem ?? (preview.data !== undefined ? previewText(days, preview.data) : "")}
        {problem === undefined && days.session_days !== null && " Removed data cannot be restored."}
      </p>
      {save.isError && <FormError>The retention was not saved: {save.error.message}</FormError>}
    </form>
  );
}

const textOf = (days: number | null): string => (days === null ? "" : String(days));

const DISK_LABELS = {
  turns: "Turns",
  sessions: "Sessions",
  rollups: "Charts",
  other: "Everything else",
} as const;

function DiskUse({ disk, oldest_days, horizon }: RetentionView) {
  const total = Object.values(disk).reduce((sum, bytes) => sum + bytes, 0);
  return (
    <>
      <h3 className="mt-4 mb-1 text-[13px] font-medium">Size on disk</h3>
      <dl data-testid="disk-use" className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-6 text-[13px]">
        {(Object.keys(DISK_LABELS) as (keyof typeof DISK_LABELS)[]).map((part) => (
          <div key={part} className="col-span-2 grid grid-cols-subgrid border-t py-1.5">
            <dt className="text-muted">{DISK_LABELS[part]}</dt>
            <dd className="text-right">{bytesText(disk[part])}</dd>
          </div>
        ))}
        <div className="col-span-2 grid grid-cols-subgrid border-t py-1.5 font-medium">
          <dt>All projects together</dt>
          <dd className="text-right">{bytesText(total)}</dd>
        </div>
      </dl>
      <p className="mt-1 text-xs text-faint">
        {oldest_days !== null && `The oldest chart of this project is ${plural(oldest_days, "day")} old. `}
        {horizon !== null &&
          `Sessions from before ${shortTime(Date.parse(horizon), undefined, { year: true })} were removed. `}
        PostgreSQL reuses the room of removed rows before it gives any back to the disk.
      </p>
    </>
  );
}
