/** @jsxImportSource #jsx */
"use client";

import type { TRPCLink } from "@trpc/client";
import { observable } from "@trpc/server/observable";
import { useEffect } from "react";
import type { AppRouter } from "../../server/trpc/router.ts";
import { useMounted } from "../clock.tsx";

const MARK = "data-hydrating";
/** Longest wait for a part whose script does not load, ms. */
const LIMIT_MS = 10_000;

let found = () => {};
let hydrated: Promise<void> | undefined;

function isHydrated(): boolean {
  // While the document is streamed, more parts may come.
  return document.readyState !== "loading" && document.querySelector(`[${MARK}]`) === null;
}

function whenHydrated(): Promise<void> {
  hydrated ??= new Promise((resolve) => {
    found = () => {
      if (isHydrated()) resolve();
    };
    document.addEventListener("DOMContentLoaded", found);
    setTimeout(resolve, LIMIT_MS);
    found();
  });
  return hydrated;
}

/** Put it into each part of a page that React hydrates for itself: each `Suspense` whose content is in the HTML. */
export function Hydrating() {
  const mounted = useMounted();
  useEffect(() => {
    if (mounted) found();
  }, [mounted]);
  return mounted ? null : <span hidden {...{ [MARK]: "" }} />;
}

/**
 * Holds answers back until all of the page is hydrated. A part that hydrates with newer data than the server rendered it with
 * differs from its HTML, and React renders the whole page again.
 */
export const afterHydration: TRPCLink<AppRouter> = () => (call) =>
  observable((observer) => {
    const { unsubscribe } = call.next(call.op).subscribe({
      next: (value) => void whenHydrated().then(() => observer.next(value)),
      error: (error) => void whenHydrated().then(() => observer.error(error)),
      complete: () => void whenHydrated().then(() => observer.complete()),
    });
    return unsubscribe;
  });
