/** @jsxImportSource #jsx */
"use client";

import { Archive } from "lucide-react";
import type { ReactNode } from "react";
import { useProject } from "../projects/current.tsx";
import { useArchiving, useProjects } from "../projects/use-projects.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/states.tsx";
import { PageHeader } from "./page-header.tsx";

/** Shows the page of the project in the URL, or that there is no such project. Says when it is archived. */
export function ProjectGate({ children }: { children: ReactNode }) {
  const named = useProject();
  const { projects, current } = useProjects();
  const { unarchive } = useArchiving();
  if (projects !== undefined && current === undefined) {
    return (
      <>
        <PageHeader title="No such project" />
        <section className="panel">
          <EmptyState title={`There is no project “${named}”`}>
            <p className="mb-3">It may have been deleted, or the link belongs to another Plimsoll server.</p>
            {/* A new document, since this one belongs to the project that is not there. */}
            <a href="/" className="text-accent underline underline-offset-2">
              Open the default project
            </a>
          </EmptyState>
        </section>
      </>
    );
  }
  return (
    <>
      {current !== undefined && current.archived_at !== null && (
        <div
          role="status"
          className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1.5 rounded-lg border border-warn px-3 py-2 text-[13px]"
        >
          <Archive aria-hidden className="size-4 shrink-0 text-warn" />
          <p className="min-w-0 flex-1 wrap-anywhere">
            This project is archived. It refuses new events, and its data can still be read.
          </p>
          <Button
            size="small"
            disabled={unarchive.isPending}
            onClick={() => unarchive.mutate({ id: current.id })}
          >
            Unarchive
          </Button>
        </div>
      )}
      {children}
    </>
  );
}
