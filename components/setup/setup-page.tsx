/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { parseAsString, useQueryState } from "nuqs";
import { type ReactNode, useState } from "react";
import { useHasRole } from "../people/use-account.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { withSharedParams } from "../shell/pages.ts";
import { RangePicker } from "../shell/range-picker.tsx";
import { useTRPC } from "../trpc.ts";
import { About } from "./about.tsx";
import { Activity } from "./activity.tsx";
import { Browsers } from "./browsers.tsx";
import { DemoFleet } from "./demo-fleet.tsx";
import { Doctor } from "./doctor.tsx";
import { Harnesses } from "./harnesses.tsx";
import { Ingestion } from "./ingestion.tsx";
import { Keys } from "./keys.tsx";
import { ModelWindows } from "./model-windows.tsx";
import { People } from "./people.tsx";
import { Projects } from "./projects.tsx";
import { Retention } from "./retention.tsx";
import { SendTurns } from "./send-turns.tsx";

/** The tasks of the page, in the order in which one comes to them. */
const TASKS = [
  { id: "task-connect", title: "Connect" },
  { id: "task-windows", title: "Windows" },
  { id: "task-people", title: "Keys and people" },
  { id: "task-data", title: "Data" },
  { id: "task-health", title: "Health" },
  { id: "task-about", title: "About" },
] as const;

export function SetupPage() {
  const [secret, setSecret] = useState<string>();
  const params = useSearchParams();
  const [requestedModel] = useQueryState("model", parseAsString);
  // Shown until it is known that the server would refuse: nearly always, it would not.
  const isAdmin = useHasRole("admin") !== false;
  const isAdminEverywhere = useHasRole("admin", "everywhere") !== false;
  const isEditor = useHasRole("editor") !== false;
  return (
    <>
      <PageHeader title="Setup">
        <RangePicker />
      </PageHeader>
      <div
        data-wide
        className="items-start gap-x-6 min-[1100px]:grid min-[1100px]:grid-cols-[9rem_minmax(0,1fr)]"
      >
        <Contents />
        <div className="grid min-w-0 gap-8">
          <Task id="task-connect">
            <SendTurns secret={secret} />
            {isAdmin && <DemoFleet />}
          </Task>
          <Task id="task-windows">
            <ModelWindows key={requestedModel} requestedModel={requestedModel} />
          </Task>
          <Task id="task-people">
            {isAdmin ? <Keys onCreated={setSecret} /> : <NotAllowed />}
            <p className="text-[13px] text-muted min-[1500px]:col-span-2">
              Your own keys, browsers and passkeys are in{" "}
              <Link
                href={withSharedParams("/account", params)}
                className="text-accent underline underline-offset-2"
              >
                your account
              </Link>
              .
            </p>
            {isAdminEverywhere && <People />}
            <Browsers />
            <Projects />
            {isAdmin && <Activity />}
          </Task>
          <Task id="task-data">
            {isEditor ? (
              <>
                <Retention />
                <Harnesses />
              </>
            ) : (
              <NotAllowed />
            )}
          </Task>
          <Task id="task-health">
            {isAdmin && <Doctor />}
            <Ingestion />
          </Task>
          <Task id="task-about">
            <About />
          </Task>
        </div>
      </div>
    </>
  );
}

/** In the place of a section that the person's role does not include. */
function NotAllowed() {
  const { data } = useQuery(useTRPC().account.queryOptions());
  return (
    <p className="panel p-5 text-[13px] text-muted">
      You are {data?.role ?? "nothing"} in this project, and this part needs a higher role. Ask an
      administrator for it.
    </p>
  );
}

/** Stays beside the tasks; above them on a narrow screen. */
function Contents() {
  return (
    <nav aria-label="On this page" className="mb-4 min-[1100px]:sticky min-[1100px]:top-5 min-[1100px]:mb-0">
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-[13px] min-[1100px]:flex-col">
        {TASKS.map(({ id, title }) => (
          <li key={id}>
            <a
              href={`#${id}`}
              className="inline-block py-1 text-muted underline-offset-2 hover:text-ink hover:underline pointer-coarse:py-2"
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The sections of one task, in two columns where there is room. */
function Task({ id, children }: { id: (typeof TASKS)[number]["id"]; children: ReactNode }) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-3 scroll-mt-4 text-[17px] font-semibold">
        {TASKS.find((task) => task.id === id)!.title}
      </h2>
      <div className="grid items-start gap-4 min-[1500px]:grid-cols-2 min-[1500px]:[&>:only-child]:col-span-2">
        {children}
      </div>
    </section>
  );
}
