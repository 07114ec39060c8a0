/** @jsxImportSource #jsx */
"use client";

import type { AuditEntryView, AuditTopic } from "@plimsoll/protocol/api";
import { hashKey, keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useEffect, useState } from "react";
import { Ago } from "../clock.tsx";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { activityQuery } from "./activity-query.ts";
import { actionText, actorText, projectText } from "./activity-text.ts";
import { Section } from "./section.tsx";

const ALL = "all";
const TOPIC_TEXT: Readonly<Record<AuditTopic, string>> = {
  logins: "Logins",
  people: "People",
  keys: "Keys",
  windows: "Model windows",
  mappings: "Mappings",
  projects: "Projects",
  deletions: "Deletions",
  policies: "Policies",
  alerts: "Alerts",
  sessions: "Sessions",
  backups: "Backups",
  demo: "Demo",
};
const TOPICS = [
  { value: ALL, label: "All activity" },
  ...Object.entries(TOPIC_TEXT).map(([value, label]) => ({ value: value as AuditTopic, label })),
] as const;

/** Reads the log again after every change that this page makes. */
function useRefreshAfterChanges(): void {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { current } = useProjects();
  const currentId = current?.id;
  useEffect(() => {
    const deletion = hashKey(trpc.projects.delete.mutationKey());
    return client.getMutationCache().subscribe((event) => {
      if (event.type !== "updated" || event.action.type !== "success") return;
      const { options, state } = event.mutation;
      // A page whose project is gone is left, and gets no more answers.
      const isGone =
        options.mutationKey !== undefined &&
        hashKey(options.mutationKey) === deletion &&
        (state.variables as { id: number }).id === currentId;
      if (!isGone) void client.invalidateQueries(trpc.audit.pathFilter());
    });
  }, [client, trpc, currentId]);
}

/** The audit log, newest first. */
export function Activity() {
  useRefreshAfterChanges();
  const [topic, setTopic] = useState<AuditTopic>();
  const query = useInfiniteQuery(
    useTRPC().audit.list.infiniteQueryOptions(activityQuery(topic), {
      getNextPageParam: (page) => page.next_cursor ?? undefined,
      placeholderData: keepPreviousData,
    }),
  );
  const csvHref = withProject(
    `/api/v1/audit.csv${topic === undefined ? "" : `?topic=${topic}`}`,
    useProject(),
  );
  const entries = query.data?.pages.flatMap((page) => page.items);
  return (
    <Section
      id="activity"
      title="Activity"
      note="Who signed in, and who changed what. Entries are kept for 400 days."
      action={
        <div className="flex gap-2">
          <SelectMenu
            name="Topic"
            value={topic ?? ALL}
            options={TOPICS}
            onChange={(next) => setTopic(next === ALL ? undefined : next)}
          />
          <Button asChild>
            <a href={csvHref} download>
              <Download aria-hidden /> CSV
            </a>
          </Button>
        </div>
      }
    >
      {entries === undefined ? (
        <NotLoaded query={query} what="the activity" className="h-48" />
      ) : entries.length === 0 ? (
        <p className="text-[13px] text-muted">
          {topic === undefined ? "Nothing yet." : "Nothing about this topic yet."}
        </p>
      ) : (
        <>
          <Entries entries={entries} />
          {query.hasNextPage && (
            <div className="mt-3 text-center">
              <Button onClick={() => query.fetchNextPage()} disabled={query.isFetchingNextPage}>
                {query.isFetchingNextPage ? "Loading" : "Show more"}
              </Button>
            </div>
          )}
        </>
      )}
    </Section>
  );
}

function Entries({ entries }: { entries: readonly AuditEntryView[] }) {
  const { projects } = useProjects();
  const several = (projects?.length ?? 0) > 1;
  return (
    <ol data-testid="activity">
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} several={several} />
      ))}
    </ol>
  );
}

function Entry({ entry, several }: { entry: AuditEntryView; several: boolean }) {
  const { at, action, target, detail, actor } = entry;
  const project = projectText(entry, several);
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 border-t py-2 text-[13px] first:border-t-0 sm:grid-cols-[5.5rem_minmax(0,1fr)_fit-content(16rem)]">
      <span className="text-muted max-sm:text-xs">
        <Ago at={at} />
      </span>
      <span className="min-w-0 wrap-anywhere max-sm:col-span-2 max-sm:row-start-2">
        <span className={action === "login_failed" ? "text-warn-ink" : ""}>{actionText(entry)}</span>
        {target !== null && (
          <>
            {": "}
            <span className="font-medium">{target}</span>
          </>
        )}
        {(detail !== null || project !== null) && (
          <span className="block text-xs text-muted">
            {[project, detail].filter((part) => part !== null).join(" · ")}
          </span>
        )}
      </span>
      <span className="min-w-0 text-right text-muted wrap-anywhere max-sm:text-xs">{actorText(actor)}</span>
    </li>
  );
}
