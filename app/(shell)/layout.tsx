/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import { connection } from "next/server";
import type { ReactNode } from "react";
import { ClockProvider } from "../../components/clock.tsx";
import { ProjectProvider } from "../../components/projects/current.tsx";
import { ProjectGate } from "../../components/shell/project-gate.tsx";
import { Shell } from "../../components/shell/shell.tsx";
import { now } from "../now.ts";
import { prefetch } from "../prefetch.ts";

export default async function ShellLayout({ children }: { children: ReactNode }) {
  // Forces rendering at request time: the clock below must not be fixed at build time.
  await connection();
  const state = await prefetch((trpc, client) => [client.prefetchQuery(trpc.projects.list.queryOptions({}))]);
  return (
    <HydrationBoundary state={state}>
      <ClockProvider start={now()}>
        <ProjectProvider>
          <Shell>
            <ProjectGate>{children}</ProjectGate>
          </Shell>
        </ProjectProvider>
      </ClockProvider>
    </HydrationBoundary>
  );
}
