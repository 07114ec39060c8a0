"use client";

import { createContext, useState } from "react";
import { useProject } from "../projects/current.tsx";
import { addDismissed, DISMISSED_COOKIE, fingerprint, parseDismissed } from "./dismissals.ts";

const YEAR_MS = 31_536_000_000;

interface Memory {
  /** @param about what the notice says; it comes back when it says one more */
  isDismissed: (about: readonly string[]) => boolean;
  dismiss: (about: readonly string[]) => void;
}

export const Dismissals = createContext<Memory>({ isDismissed: () => false, dismiss: () => {} });

/** @param cookie the notices that this browser sent with its request */
export function useDismissals(cookie: string | null): Memory {
  const [dismissed, setDismissed] = useState(cookie);
  const project = useProject() ?? "";
  const marksOf = (about: readonly string[]) => about.map((one) => fingerprint(`${project} ${one}`));
  return {
    isDismissed(about) {
      const marks = new Set(parseDismissed(dismissed));
      return marksOf(about).every((mark) => marks.has(mark));
    },
    dismiss(about) {
      const value = addDismissed(parseDismissed(dismissed), marksOf(about));
      setDismissed(value);
      // Absent without HTTPS on another machine; the notice then comes back with the next page.
      void window.cookieStore?.set({
        name: DISMISSED_COOKIE,
        value,
        expires: Date.now() + YEAR_MS,
        sameSite: "strict",
      });
    },
  };
}
