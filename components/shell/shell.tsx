"use client";

import dynamic from "next/dynamic";
import { useRouter } from "next/navigation";
import { type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { enterRows } from "../fleet/walk-rows.ts";
import { LiveProvider } from "../live.tsx";
import { Actions, type ShellActions } from "./actions.ts";
import { Nav } from "./nav.tsx";
import { carry, PAGES } from "./pages.ts";

// Needed only once somebody asks for them.
const Palette = dynamic(() => import("./palette.tsx").then(({ Palette }) => Palette));
const HelpDialog = dynamic(() => import("./help.tsx").then(({ HelpDialog }) => HelpDialog));

/** How long after `g` the second key counts. */
const CHORD_MS = 2000;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

function useShortcuts({ openSearch, openHelp }: ShellActions): void {
  const router = useRouter();
  useEffect(() => {
    let chordUntil = 0;
    function press(event: KeyboardEvent) {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openSearch();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("[role=dialog],[role=menu]") !== null) return;
      if (event.timeStamp < chordUntil) {
        const page = PAGES.find(({ key }) => key === event.key);
        chordUntil = 0;
        if (page !== undefined) {
          event.preventDefault();
          router.push(carry(page.href, new URLSearchParams(window.location.search)));
          return;
        }
      }
      if (event.key === "g") chordUntil = event.timeStamp + CHORD_MS;
      else if (event.key === "?") openHelp();
      else if (document.activeElement === document.body && enterRows(event.key)) event.preventDefault();
      else if (event.key === "/") {
        event.preventDefault();
        const field = document.querySelector<HTMLInputElement>("main input[type=search]");
        if (field === null) openSearch();
        else field.focus();
      }
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [router, openSearch, openHelp]);
}

export function Shell({ children }: { children: ReactNode }) {
  const [searching, setSearching] = useState(false);
  const [helping, setHelping] = useState(false);
  const actions = useMemo(
    () => ({ openSearch: () => setSearching(true), openHelp: () => setHelping(true) }),
    [],
  );
  useShortcuts(actions);
  return (
    <LiveProvider>
      <Actions value={actions}>
        <a href="#main" className="skip-link">
          Skip to the content
        </a>
        <div className="min-h-dvh md:grid md:grid-cols-[208px_minmax(0,1fr)]">
          <Suspense>
            <Nav />
          </Suspense>
          <main
            id="main"
            tabIndex={-1}
            className="max-w-[1280px] min-w-0 px-4 pt-4 pb-24 md:px-7 md:pt-5 md:pb-10"
          >
            <Suspense>{children}</Suspense>
          </main>
        </div>
        <Suspense>{searching && <Palette open onOpenChange={setSearching} />}</Suspense>
        {helping && <HelpDialog open onOpenChange={setHelping} />}
      </Actions>
    </LiveProvider>
  );
}
