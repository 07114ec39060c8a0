"use client";

import type { DemoExampleState, DemoExampleView, DemoView } from "@plimsoll/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Circle, CircleStop, LoaderCircle, type LucideIcon, Play, TriangleAlert } from "lucide-react";
import { useEffect } from "react";
import { toast } from "sonner";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { demoAdvice, demoWords } from "./demo-words.ts";
import { Section } from "./section.tsx";

/** How often a run under way is asked how it stands, in ms. */
const ASK_MS = 700;

const isUnderWay = ({ state }: DemoView) => state === "starting" || state === "running";

function useDemo() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const query = useQuery(
    trpc.demo.get.queryOptions(undefined, {
      staleTime: 0,
      refetchInterval: ({ state }) => (state.data !== undefined && isUnderWay(state.data) ? ASK_MS : false),
    }),
  );
  const take = (view: DemoView) => client.setQueryData(trpc.demo.get.queryKey(), view);
  const start = useMutation(
    trpc.demo.start.mutationOptions({
      onSuccess: take,
      onError: (error) => {
        toast.error(`The demo fleet was not started: ${error.message}`);
        void query.refetch();
      },
    }),
  );
  const stop = useMutation(
    trpc.demo.stop.mutationOptions({
      onSuccess: take,
      onError: (error) => toast.error(`The demo fleet was not stopped: ${error.message}`),
    }),
  );
  const state = query.data?.state;
  useEffect(() => {
    // With every change of state its key is made, used or revoked.
    if (state !== undefined && state !== "idle") void client.invalidateQueries(trpc.keys.list.queryFilter());
  }, [state, client, trpc]);
  return { query, start, stop };
}

/** The examples at one click: a fleet to look at before there is one of one's own. */
export function DemoFleet() {
  const { query, start, stop } = useDemo();
  const view = query.data;
  const underWay = view !== undefined && isUnderWay(view);
  return (
    <Section
      id="demo"
      title="Demo fleet"
      note="Four small harnesses run on this machine against a scripted model: no account, no network. They record real sessions with falls of every kind. Those stay recorded: there is no way to delete sessions yet."
      action={
        underWay ? (
          <Button onClick={() => stop.mutate({})} disabled={stop.isPending}>
            <CircleStop aria-hidden /> {stop.isPending ? "Stopping" : "Stop"}
          </Button>
        ) : (
          <Button onClick={() => start.mutate({})} disabled={view === undefined || start.isPending}>
            <Play aria-hidden /> Start the demo fleet
          </Button>
        )
      }
    >
      {view === undefined ? (
        query.isError ? (
          <ErrorState what="The demo fleet" error={query.error} retry={() => query.refetch()} />
        ) : (
          <Skeleton className="h-5" />
        )
      ) : (
        <div data-testid="demo" data-state={view.state}>
          <p role="status" className="text-[13px] text-muted">
            {demoWords(view)}
          </p>
          {view.failure !== null && (
            <div className="mt-2 rounded-lg border border-hard px-3 py-2 text-[13px]">
              <p className="wrap-anywhere">{view.failure.message}</p>
              <p className="mt-1 text-muted">{demoAdvice(view.failure.reason)}</p>
            </div>
          )}
          {view.examples.length > 0 && (
            <ul className="mt-2">
              {view.examples.map((example) => (
                <Example key={example.name} example={example} />
              ))}
            </ul>
          )}
        </div>
      )}
    </Section>
  );
}

const SIGNS: Readonly<Record<DemoExampleState, { label: string; icon: LucideIcon; look: string }>> = {
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
  const { label, icon: Icon, look } = SIGNS[example.state];
  return (
    <li
      data-testid={`demo-${example.name}`}
      data-state={example.state}
      className="grid grid-cols-[16px_minmax(0,1fr)_auto] gap-x-2.5 border-t py-2 text-[13px]"
    >
      <Icon aria-hidden className={cn("mt-0.5 size-4", look)} />
      <div className="min-w-0">
        <span className="font-medium">{example.name}</span> <span className="text-muted">{label}</span>
        {example.said !== null && (
          <p className="truncate text-xs text-faint" title={example.said}>
            {example.said}
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

/** The same offer where nothing was recorded yet: rows appear as the demo goes on. */
export function DemoOffer() {
  const { query, start } = useDemo();
  const underWay = query.data !== undefined && isUnderWay(query.data);
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 text-[13px]">
      <p className="text-muted">
        {underWay
          ? "The demo fleet is starting."
          : "Nothing to connect yet? Four example harnesses can run here."}
      </p>
      <Button
        disabled={underWay || start.isPending || query.data === undefined}
        onClick={() => start.mutate({})}
      >
        <Play aria-hidden /> Start the demo fleet
      </Button>
    </div>
  );
}
