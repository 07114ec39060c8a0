"use client";

import { createContext, useState } from "react";
import { useProject } from "../projects/current.tsx";
import { addDismissed, DISMISSED_COOKIE, fingerprint, parseDismissed } from "./dismissals.ts";

const YEAR_MS = 31_536_000_000;

interface Memory {
  /** @param about what the notice says; another text comes back */
  isDismissed: (about: string) => boolean;
  dismiss: (about: string) => void;
}

export const Dismissals = createContext<Memory>({ isDismissed: () => false, dismiss: () => {} });

/** @param cookie the notices that this browser sent with its request */
export function useDismissals(cookie: string | null): Memory {
  const [dismissed, setDismissed] = useState(cookie);
  const project = useProject() ?? "";
  const markOf = (about: string) => fingerprint(`${project} ${about}`);
  return {
    isDismissed: (about) => parseDismissed(dismissed).includes(markOf(about)),
    dismiss(about) {
      const value = addDismissed(parseDismissed(dismissed), markOf(about));
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
