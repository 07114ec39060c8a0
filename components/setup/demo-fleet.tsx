/** @jsxImportSource #jsx */
"use client";

import type { DemoExampleState, DemoExampleView, DemoView } from "@plimsoll/protocol/api";
import { DEMO_HARNESSES } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  Check,
  Circle,
  CircleStop,
  LoaderCircle,
  type LucideIcon,
  Play,
  Trash2,
  TriangleAlert,
} from "lucide-react";
import { useEffect } from "react";
import { useDeletion } from "../deletion/use-deletion.ts";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { CodeText } from "../ui/code-text.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { DemoSightList } from "./demo-sight-list.tsx";
import { demoAdvice, demoStatusText, saidText } from "./demo-status.ts";
import { Section } from "./section.tsx";

/** Polling interval of a running demo, in ms. */
const POLL_MS = 700;

const isRunning = ({ state }: DemoView) => state === "starting" || state === "running";

function useDemo() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const query = useQuery(
    trpc.demo.get.queryOptions(undefined, {
      staleTime: 0,
      refetchInterval: ({ state }) => (state.data !== undefined && isRunning(state.data) ? POLL_MS : false),
    }),
  );
  const store = (view: DemoView) => client.setQueryData(trpc.demo.get.queryKey(), view);
  const start = useMutation(
    trpc.demo.start.mutationOptions({
      onSuccess: store,
      onError: (error) => {
        toast.error(`Failed to start the demo fleet: ${error.message}`);
        void query.refetch();
      },
    }),
  );
  const stop = useMutation(
    trpc.demo.stop.mutationOptions({
      onSuccess: store,
      onError: (error) => toast.error(`Failed to stop the demo fleet: ${error.message}`),
    }),
  );
  const state = query.data?.state;
  useEffect(() => {
    // Each state change creates, uses or revokes the demo key.
    if (state !== undefined && state !== "idle") void client.invalidateQueries(trpc.keys.list.queryFilter());
  }, [state, client, trpc]);
  return { query, start, stop };
}

/** Starts and stops the example harnesses, for a look at Plimsoll with real data. */
export function DemoFleet() {
  const { query, start, stop } = useDemo();
  const view = query.data;
  const running = view !== undefined && isRunning(view);
  const deletion = useDeletion();
  const { data: harnesses } = useQuery(useTRPC().harnesses.queryOptions({}));
  const hasData = harnesses?.harnesses.some(({ instance }) => DEMO_HARNESSES.includes(instance)) ?? false;
  return (
    <Section
      id="demo"
      title="Demo fleet"
      note="Runs five small harnesses on this machine against scripted models for five minutes, without an account or network access. Their sessions stay recorded until you delete them."
      action={
        <div className="flex flex-wrap gap-2">
          {running ? (
            <Button onClick={() => stop.mutate({})} disabled={stop.isPending}>
              <CircleStop aria-hidden /> {stop.isPending ? "Stopping" : "Stop"}
            </Button>
          ) : (
            <Button onClick={() => start.mutate({})} disabled={view === undefined || start.isPending}>
              <Play aria-hidden /> Start demo fleet
            </Button>
          )}
          {hasData && (
            <Button onClick={() => deletion.demo.mutate({})} disabled={deletion.demo.isPending}>
              <Trash2 aria-hidden /> {deletion.demo.isPending ? "Deleting" : "Delete demo data"}
            </Button>
          )}
        </div>
      }
    >
      {view === undefined ? (
        <NotLoaded query={query} what="the demo fleet" className="h-5" />
      ) : (
        <div data-testid="demo" data-state={view.state}>
          <p role="status" className="text-[13px] text-muted">
            {demoStatusText(view)}
          </p>
          {view.failure !== null && (
            <div className="mt-2 rounded-lg border border-hard px-3 py-2 text-[13px]">
              <p className="wrap-anywhere">{view.failure.message}</p>
              <p className="mt-1 text-muted">
                <CodeText>{demoAdvice(view.failure.reason)}</CodeText>
              </p>
            </div>
          )}
          {view.examples.length > 0 && (
            <ul className="mt-2">
              {view.examples.map((example) => (
                <Example key={example.name} example={example} />
              ))}
            </ul>
          )}
          {(running || hasData) && <DemoSightList running={running} />}
        </div>
      )}
    </Section>
  );
}

const STATES: Readonly<Record<DemoExampleState, { label: string; icon: LucideIcon; look: string }>> = {
  waiting: { label: "waiting", icon: Circle, look: "text-faint" },
  running: {
    label: "running",
    icon: LoaderCircle,
    look: "animate-spin text-accent motion-reduce:animate-none",
  },
  finished: { label: "finished", icon: Check, look: "text-ok" },
  failed: { label: "failed", icon: TriangleAlert, look: "text-hard" },
  stopped: { label: "stopped", icon: CircleStop, look: "text-faint" },
};

function Example({ example }: { example: DemoExampleView }) {
  const { label, icon: Icon, look } = STATES[example.state];
  const said = saidText(example.said);
  return (
    <li
      data-testid={`demo-${example.name}`}
      data-state={example.state}
      className="grid grid-cols-[16px_minmax(0,1fr)_auto] gap-x-2.5 border-t py-2 text-[13px]"
    >
      <Icon aria-hidden className={cn("mt-0.5 size-4", look)} />
      <div className="min-w-0">
        <span className="font-medium">{example.name}</span> <span className="text-muted">{label}</span>
        {said !== null && (
          <p className="truncate text-xs text-faint" title={said}>
            {said}
          </p>
        )}
      </div>
      <ul className="-my-0.5 max-w-40 min-w-0 text-right sm:max-w-72">
        {example.sessions.map(({ id, session, title }) => (
          <li key={id}>
            <Link
              href={`/sessions/${id}`}
              title={session}
              className="block truncate leading-6 text-accent underline underline-offset-2"
            >
              {title ?? session}
            </Link>
          </li>
        ))}
      </ul>
    </li>
  );
}

/** Offers the demo on an empty fleet page. */
export function DemoOffer() {
  const { query, start } = useDemo();
  const running = query.data !== undefined && isRunning(query.data);
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 text-[13px]">
      <p className="text-muted">
        {running
          ? "The demo fleet is starting."
          : "No harness to connect yet? Run five example harnesses on this machine."}
      </p>
      <Button
        disabled={running || start.isPending || query.data === undefined}
        onClick={() => start.mutate({})}
      >
        <Play aria-hidden /> Start demo fleet
      </Button>
    </div>
  );
}
