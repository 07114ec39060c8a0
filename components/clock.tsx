/** @jsxImportSource #jsx */
"use client";

import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import { ago, agoStep, fullTime, NONE, within, zoneName } from "./format.ts";

const MINUTE = 60_000;
const Start = createContext(0);

/** Milliseconds after which a page that has no subscriber advances its minute anyway. */
const HYDRATION_MS = 10_000;

/** `start` is the server's render time in epoch ms, so that hydration produces the same text. */
export function ClockProvider({ start, children }: { start: number; children: ReactNode }) {
  useEffect(() => {
    const since = performance.now();
    return onTick(1000, () => {
      if (followers.size > 0 || minute !== undefined || performance.now() - since > HYDRATION_MS) advance();
    });
  }, []);
  return <Start value={start}>{children}</Start>;
}

/**
 * The minute of the latest tick, in epoch ms; undefined until hydration.
 * Until hydration, use the server's minute: the prefetched queries are keyed to it.
 */
let minute: number | undefined;
const followers = new Set<() => void>();
const minuteOf = (time: number) => Math.floor(time / MINUTE) * MINUTE;

function advance(): void {
  const now = minuteOf(Date.now());
  if (now === minute) return;
  minute = now;
  for (const follow of followers) follow();
}

function onMinute(follow: () => void): () => void {
  followers.add(follow);
  return () => void followers.delete(follow);
}

const listeners = new Map<number, { subscribers: Set<() => void>; timer: ReturnType<typeof setInterval> }>();

/** Shares one timer per interval among all subscribers on the page. */
function onTick(step: number, listener: () => void): () => void {
  let entry = listeners.get(step);
  if (entry === undefined) {
    const subscribers = new Set<() => void>();
    entry = {
      subscribers,
      timer: setInterval(() => {
        for (const notify of subscribers) notify();
      }, step),
    };
    listeners.set(step, entry);
  }
  entry.subscribers.add(listener);
  const { subscribers, timer } = entry;
  return () => {
    subscribers.delete(listener);
    if (subscribers.size > 0) return;
    clearInterval(timer);
    listeners.delete(step);
  };
}

/** The start of the current minute, in epoch ms. Relative ranges are resolved against it. */
export function useMinute(): number {
  const start = useContext(Start);
  return useSyncExternalStore(
    onMinute,
    () => minute ?? minuteOf(start),
    () => minuteOf(start),
  );
}

export function useMounted(): boolean {
  return useSyncExternalStore(
    () => () => {},
    () => true,
    () => false,
  );
}

/** The time zone to format in: UTC while rendering on the server, then `undefined` for the viewer's own. */
export function useZone(): string | undefined {
  return useMounted() ? undefined : "UTC";
}

/** The name of the browser's time zone; UTC on the server and while the page hydrates. */
export function useTimeZone(): string {
  return useMounted() ? Intl.DateTimeFormat().resolvedOptions().timeZone : "UTC";
}

/**
 * The time of the latest tick, in epoch ms.
 * @param stepAt milliseconds until the next tick, by the time of the last one
 */
export function useNow(stepAt: (now: number) => number): number {
  const start = useContext(Start);
  const mounted = useMounted();
  const [tick, setTick] = useState<number>();
  const now = tick ?? (mounted ? Date.now() : start);
  const step = stepAt(now);
  useEffect(() => onTick(step, () => setTick(Date.now())), [step]);
  return now;
}

/** A relative time such as `18 s ago` that updates itself, with the exact local time on hover. */
export function Ago({ at, className }: { at: string | null; className?: string }) {
  const mounted = useMounted();
  const time = at === null ? Number.NaN : Date.parse(at);
  const now = useNow((last) => agoStep(time, last));
  const title = useMemo(() => (mounted && at !== null ? fullTime(time) : at), [mounted, time, at]);
  // An event may be newer than the last tick; `ago` then returns "just now".
  if (at === null) return <span className={className}>{NONE}</span>;
  return (
    <time dateTime={at} title={title!} className={className}>
      {ago(time, now)}
    </time>
  );
}

/** How long it takes until a time, such as `in 4 min`, with the exact local time on hover. */
export function Remaining({ until }: { until: string }) {
  const mounted = useMounted();
  const time = Date.parse(until);
  const now = useNow((last) => agoStep(last, time));
  return (
    <time dateTime={until} title={mounted ? fullTime(time) : until}>
      {within(time, now)}
    </time>
  );
}

/** A time in the viewer's time zone. The server does not know the zone, so it renders UTC. */
export function LocalTime({
  at,
  format,
  className,
}: {
  at: string;
  format: (at: number, timeZone?: string) => string;
  className?: string;
}) {
  const mounted = useMounted();
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={mounted ? fullTime(time) : at} className={className}>
      {mounted ? format(time) : format(time, "UTC")}
    </time>
  );
}

/** Names the time zone of the page. */
export function Zone({ className }: { className?: string }) {
  const mounted = useMounted();
  return (
    <span className={className} data-testid="zone">
      {mounted && `times in ${zoneName()}`}
    </span>
  );
}
