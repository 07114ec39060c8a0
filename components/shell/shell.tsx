/** @jsxImportSource #jsx */
"use client";

import { useRouter } from "next/navigation";
import { type MouseEvent, type ReactNode, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { Hydrating } from "../live/hydration.tsx";
import { LiveProvider } from "../live/live-provider.tsx";
import { OutageBanner } from "../live/outage-banner.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { withOverlays } from "../ui/lazy-overlays.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { focusFirstRow } from "../ui/row-keys.ts";
import { toaster } from "../ui/toast.ts";
import { Nav } from "./nav.tsx";
import { PageFrame } from "./page-frame.tsx";
import { PAGES, withSharedParams } from "./pages.ts";
import { useRestoreRowFocus } from "./restore-row-focus.ts";
import { Actions, type ShellActions } from "./shell-actions.ts";

const Palette = lazyPart(async () => (await withOverlays(import("./command-palette.tsx"))).Palette);
const ShortcutsDialog = lazyPart(
  async () => (await withOverlays(import("./shortcuts-dialog.tsx"))).ShortcutsDialog,
);
const TimeDialog = lazyPart(async () => (await withOverlays(import("./time-dialog.tsx"))).TimeDialog);
const loadOverlays = () =>
  Promise.all([toaster.load(), Palette.load(), ShortcutsDialog.load(), TimeDialog.load()]);

/** How long after `g` the second key is accepted, in ms. */
const CHORD_MS = 2000;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

/** What is prepared but not open is in the document too, hidden. */
function isSomethingOpen(selector: string): boolean {
  return [...document.querySelectorAll(selector)].some((element) => element.checkVisibility());
}

/** Text typed after opening the palette and before its input is mounted. */
interface EarlyInput {
  waiting: boolean;
  text: string;
}

/** Records a key for the palette. Returns true if the key was consumed. */
function recordEarlyKey(early: EarlyInput, { key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (!early.waiting || ctrlKey || metaKey || altKey) return false;
  if (key === "Escape") early.waiting = false;
  else if (key === "Backspace") early.text = early.text.slice(0, -1);
  else if (key.length === 1) early.text += key;
  else return false;
  return true;
}

function useShortcuts({ openSearch, openHelp, openTime }: ShellActions, early: EarlyInput): void {
  const router = useRouter();
  useEffect(() => {
    let chordUntil = 0;
    function press(event: KeyboardEvent) {
      if (recordEarlyKey(early, event)) {
        event.preventDefault();
        return;
      }
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openSearch();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (isSomethingOpen("[role=dialog],[role=menu]")) return;
      if (event.timeStamp < chordUntil) {
        const page = PAGES.find(({ key }) => key === event.key);
        chordUntil = 0;
        if (page !== undefined) {
          event.preventDefault();
          router.push(withSharedParams(page.href, new URLSearchParams(window.location.search)));
          return;
        }
      }
      if (event.key === "g") chordUntil = event.timeStamp + CHORD_MS;
      else if (event.key === "?") openHelp();
      else if (event.key === "t") {
        // Else it is typed into the field.
        event.preventDefault();
        openTime();
      } else if (document.activeElement === document.body && focusFirstRow(event.key)) event.preventDefault();
      else if (event.key === "/") {
        event.preventDefault();
        const field = document.querySelector<HTMLInputElement>("main input[type=search]");
        if (field === null) openSearch();
        else field.focus();
      }
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [router, openSearch, openHelp, openTime, early]);
}

/** Focuses the content without a history entry: Next.js cannot restore entries it did not create. */
function skipToContent(event: MouseEvent<HTMLAnchorElement>): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** The search and the help. Their state is kept here, so that opening them renders nothing else again. */
function SearchAndHelp({ children }: { children: ReactNode }) {
  const [searching, setSearching] = useState(false);
  const [helping, setHelping] = useState(false);
  const [timing, setTiming] = useState(false);
  const [early] = useState<EarlyInput>({ waiting: false, text: "" });
  const actions = useMemo(
    () => ({
      openSearch: () => {
        early.waiting = !isSomethingOpen("[role=dialog]");
        setSearching(true);
      },
      openHelp: () => setHelping(true),
      openTime: () => setTiming(true),
    }),
    [early],
  );
  const takeEarly = useCallback(() => {
    const { text } = early;
    early.waiting = false;
    early.text = "";
    return text;
  }, [early]);
  const closeSearch = useCallback(() => {
    // It may not have been loaded.
    takeEarly();
    setSearching(false);
  }, [takeEarly]);
  const closeHelp = useCallback(() => setHelping(false), []);
  const closeTime = useCallback(() => setTiming(false), []);
  useShortcuts(actions, early);
  return (
    <Actions value={actions}>
      {children}
      <Palette open={searching} onClose={closeSearch} takeEarly={takeEarly} />
      <ShortcutsDialog open={helping} onClose={closeHelp} />
      <TimeDialog open={timing} onClose={closeTime} />
    </Actions>
  );
}

export function Shell({ children }: { children: ReactNode }) {
  usePreload(loadOverlays);
  useRestoreRowFocus();
  return (
    <LiveProvider>
      <SearchAndHelp>
        {/* biome-ignore lint/a11y/useValidAnchor: it is a link within the page and works before hydration */}
        <a href="#main" className="skip-link" onClick={skipToContent}>
          Skip to content
        </a>
        <div className="min-h-dvh md:grid md:grid-cols-[208px_minmax(0,1fr)]">
          <Suspense>
            <Nav />
            <Hydrating />
          </Suspense>
          <main
            id="main"
            tabIndex={-1}
            className="max-w-[1280px] min-w-0 has-data-wide:max-w-none px-4 pt-4 pb-24 md:px-7 md:pt-5 md:pb-10"
          >
            <PageFrame>
              <Suspense>
                {children}
                <Hydrating />
              </Suspense>
            </PageFrame>
          </main>
        </div>
        <OutageBanner />
      </SearchAndHelp>
    </LiveProvider>
  );
}
