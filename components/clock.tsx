"use client";

import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from "react";
import { ago, agoStep, fullTime, NONE } from "./format.ts";

const MINUTE = 60_000;
const Start = createContext(0);

/** A page that has not been taken over by then has no part that follows the minute, ms. */
const TAKEN_OVER = 10_000;

/** `start` is the server's time of rendering, so that the first browser render reads the same as the server's. */
export function ClockProvider({ start, children }: { start: number; children: ReactNode }) {
  useEffect(() => {
    const since = performance.now();
    return onTick(1000, () => {
      if (followers.size > 0 || minute !== undefined || performance.now() - since > TAKEN_OVER) advance();
    });
  }, []);
  return <Start value={start}>{children}</Start>;
}

/**
 * The minute of the latest tick; undefined until the browser has taken over what the server rendered. Until then the
 * server's minute holds: for that one the answers came along, and a page that asked for another would show none.
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

const listeners = new Map<number, { heard: Set<() => void>; timer: ReturnType<typeof setInterval> }>();

/** One timer per pace for the whole page, however many times are on it. */
function onTick(step: number, listener: () => void): () => void {
  let entry = listeners.get(step);
  if (entry === undefined) {
    const heard = new Set<() => void>();
    entry = {
      heard,
      timer: setInterval(() => {
        for (const hear of heard) hear();
      }, step),
    };
    listeners.set(step, entry);
  }
  entry.heard.add(listener);
  const { heard, timer } = entry;
  return () => {
    heard.delete(listener);
    if (heard.size > 0) return;
    clearInterval(timer);
    listeners.delete(step);
  };
}

/** The running minute: what relative ranges are resolved against. */
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

/** The zone to write times in: the viewer's own, which is `undefined`, once the browser is there to know it. */
export function useZone(): string | undefined {
  return useMounted() ? undefined : "UTC";
}

/** `18 s ago`, ticking by itself; the exact local time and its zone on hover. */
export function Ago({ at, className }: { at: string | null; className?: string }) {
  const start = useContext(Start);
  const mounted = useMounted();
  const [now, setNow] = useState(start);
  const time = at === null ? Number.NaN : Date.parse(at);
  const step = agoStep(time, now);
  useEffect(() => {
    setNow(Date.now());
    return onTick(step, () => setNow(Date.now()));
  }, [step]);
  // A fresh event may be newer than the last tick; `ago` then says "just now".
  if (at === null) return <span className={className}>{NONE}</span>;
  return (
    <time dateTime={at} title={mounted ? fullTime(time) : at} className={className}>
      {ago(time, now)}
    </time>
  );
}

/** A time in the viewer's zone, named on hover. The server does not know that zone, so the browser fills it in. */
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

/** In whose time the page speaks. Named by its place, since an offset is not the same in summer and in winter. */
export function Zone({ className }: { className?: string }) {
  const mounted = useMounted();
  return (
    <span className={className} data-testid="zone">
      {mounted && `times in ${Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll("_", " ")}`}
    </span>
  );
}
