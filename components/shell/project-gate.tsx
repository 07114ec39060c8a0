/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Archive } from "lucide-react";
import type { ReactNode } from "react";
import { useProject } from "../projects/current.tsx";
import { useArchiving, useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/states.tsx";
import { PageHeader } from "./page-header.tsx";
import { signOut } from "./sign-out.ts";

/** Shows the page of the project in the URL, or that there is no such project. Says when it is archived. */
export function ProjectGate({ children }: { children: ReactNode }) {
  const named = useProject();
  const { projects, current } = useProjects();
  const { unarchive } = useArchiving();
  const account = useQuery({ ...useTRPC().account.queryOptions(), enabled: projects?.length === 0 });
  if (projects?.length === 0)
    return account.data?.person ? <NoRole {...account.data.person} admins={account.data.admins} /> : null;
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

function NoRole({ name, admins }: { name: string; admins: readonly string[] }) {
  const whom =
    admins.length === 0
      ? "an administrator"
      : new Intl.ListFormat("en", { type: "disjunction" }).format(admins);
  return (
    <>
      <PageHeader title="No access yet" />
      <section className="panel">
        <EmptyState title={`${name}, you have no role in Plimsoll yet`}>
          <p className="mb-3">Ask {whom} for one. Then load this page again.</p>
          <Button onClick={() => void signOut()}>Sign out</Button>
        </EmptyState>
      </section>
    </>
  );
}
