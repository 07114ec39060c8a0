/** @jsxImportSource #jsx */
"use client";

import type { WholePolicy } from "@plimsoll/protocol/api";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Ago } from "../clock.tsx";
import { authorText } from "../setup/activity-text.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { CeilingEffects } from "./ceiling-effects.tsx";
import { PolicyDiff } from "./policy-diff.tsx";
import { Rejudging } from "./rejudging.tsx";
import { versionsQuery } from "./versions-query.ts";

/** Every version, who saved it and why. Each can be looked at and saved again. */
export function VersionHistory({
  newest,
  onSaved,
}: {
  newest: WholePolicy;
  onSaved: (saved: WholePolicy) => void;
}) {
  const trpc = useTRPC();
  const [opened, setOpened] = useState<number>();
  const query = useInfiniteQuery(
    trpc.policies.versions.infiniteQueryOptions(versionsQuery(), {
      getNextPageParam: (page) => page.next_cursor ?? undefined,
    }),
  );
  const versions = query.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Section
      id="history"
      title="History"
      note="Versions are never changed. A rollback saves an old one as a new generation."
    >
      <Rejudging />
      <CeilingEffects onRollBack={setOpened} />
      {query.data === undefined ? (
        <NotLoaded query={query} what="the history" className="h-24" />
      ) : versions.length === 0 ? (
        <p className="text-[13px] text-muted">
          Nothing saved yet. Until then every harness runs its own defaults.
        </p>
      ) : (
        <ol data-testid="versions">
          {versions.map((version) => (
            <li
              key={version.generation}
              className="grid grid-cols-[36px_minmax(0,1fr)_auto] items-start gap-x-3 border-t py-2 text-[13px] first:border-t-0"
            >
              <span className="font-medium" title={`Generation ${version.generation}`}>
                {version.generation}
              </span>
              <span className="min-w-0">
                <span className="wrap-anywhere">{version.reason}</span>
                <span className="block text-xs text-faint">
                  {authorText(version)}, <Ago at={version.created_at} />
                  {version.restores !== null && `, repeats generation ${version.restores}`}
                  {version.from < version.created_at && ", applied to history"}
                </span>
              </span>
              <Button
                size="small"
                onClick={() => setOpened(version.generation)}
                aria-label={`Show generation ${version.generation}`}
              >
                {version.generation === newest.generation ? "Show" : "Compare"}
              </Button>
            </li>
          ))}
        </ol>
      )}
      {query.hasNextPage && (
        <Button
          className="mt-2"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show older
        </Button>
      )}
      {opened !== undefined && (
        <VersionDialog
          generation={opened}
          newest={newest}
          onSaved={(saved) => {
            setOpened(undefined);
            onSaved(saved);
          }}
          onClose={() => setOpened(undefined)}
        />
      )}
    </Section>
  );
}

function VersionDialog({
  generation,
  newest,
  onSaved,
  onClose,
}: {
  generation: number;
  newest: WholePolicy;
  onSaved: (saved: WholePolicy) => void;
  onClose: () => void;
}) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const query = useQuery(trpc.policies.version.queryOptions({ generation }));
  const before = useQuery(
    trpc.policies.version.queryOptions({ generation: generation - 1 }, { enabled: generation > 1 }),
  );
  const rollback = useMutation(
    trpc.policies.rollback.mutationOptions({
      onSuccess: (saved) => {
        toast.success(`Generation ${generation} is saved again as generation ${saved.generation}.`);
        onSaved(saved);
        return client.invalidateQueries();
      },
    }),
  );
  const isNewest = generation === newest.generation;

  function submit(event: FormEvent) {
    event.preventDefault();
    rollback.mutate({ generation, expected: newest.generation, reason: reason.trim() });
  }

  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Generation ${generation}`}
      description={query.data?.reason}
    >
      {query.data === undefined || (generation > 1 && before.data === undefined) ? (
        <NotLoaded query={query} what="this version" className="h-40" />
      ) : isNewest ? (
        <>
          <h3 className="mb-1 text-[13px] font-medium">Changes in this generation</h3>
          <PolicyDiff
            before={before.data?.policy ?? { settings: {}, layers: [] }}
            after={query.data.policy}
            label="Changes in this generation"
          />
        </>
      ) : (
        <>
          <h3 className="mb-1 text-[13px] font-medium">From the newest generation to this one</h3>
          <PolicyDiff
            before={newest.policy}
            after={query.data.policy}
            label="From the newest generation to this one"
          />
          <form onSubmit={submit} className="mt-4">
            <TextField
              label="Reason for rolling back"
              required
              minLength={3}
              maxLength={500}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
            {rollback.isError && <FormError>{rollback.error.message}</FormError>}
            <div className="mt-4 flex justify-end gap-2">
              <Button onClick={onClose}>Cancel</Button>
              <Button type="submit" look="primary" disabled={rollback.isPending || reason.trim().length < 3}>
                Roll back to generation {generation}
              </Button>
            </div>
          </form>
        </>
      )}
    </Modal>
  );
}
