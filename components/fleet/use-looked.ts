"use client";

import { useCallback, useEffect, useRef, useState } from "react";
import { useMinute } from "../clock.tsx";
import { useProject } from "../projects/current.tsx";
import { LOOKED_COOKIE, type Look, lookingAt, parseLooks, projectMark, withLook } from "./looked.ts";

const YEAR_MS = 31_536_000_000;

/**
 * Since when the person at this browser was away, in epoch seconds, and a function that ends it.
 * @param since what the server read from the cookie
 */
export function useLooked(since: number | undefined): { since: number | undefined; read: () => void } {
  const project = projectMark(useProject());
  const minute = useMinute();
  const [away, setAway] = useState(since);
  const last = useRef<Promise<void>>(Promise.resolve());
  const write = useCallback(
    async (next: (known: Look | undefined, now: number) => Look) => {
      // Absent without HTTPS on another machine: nothing is told there.
      if (document.visibilityState !== "visible" || window.cookieStore === undefined) return;
      // Another tab of this browser may have written it.
      const cookie = await window.cookieStore.get(LOOKED_COOKIE);
      const looks = parseLooks(cookie?.value ?? null);
      const looking = next(looks.get(project), Math.floor(Date.now() / 1_000));
      setAway(looking.away);
      await window.cookieStore.set({
        name: LOOKED_COOKIE,
        value: withLook(looks, project, looking),
        expires: Date.now() + YEAR_MS,
        sameSite: "strict",
      });
    },
    [project],
  );
  // One after the other, because each writes what it has read.
  const look = useCallback(
    (next: Parameters<typeof write>[0]) => {
      last.current = last.current.then(() => write(next)).catch(() => {});
    },
    [write],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the page is looked at again each minute
  useEffect(() => {
    const looking = () => look(lookingAt);
    looking();
    document.addEventListener("visibilitychange", looking);
    return () => document.removeEventListener("visibilitychange", looking);
  }, [look, minute]);
  const read = useCallback(() => {
    setAway(undefined);
    look((_, now) => ({ seen: now, away: undefined }));
  }, [look]);
  return { since: away, read };
}
