"use client";

import { useQueryStates } from "nuqs";
import { createContext, useContext, useMemo, useState } from "react";
import { type Period, serializeRange } from "../range.ts";
import { usePeriod, useRange } from "../url.ts";
import { COLUMNS_COOKIE, type ColumnId, parseColumns, serializeColumns } from "./column-choice.ts";
import { PINNED_FOR_MS, sessionFilters } from "./filters.ts";

export function useSessionFilters() {
  return useQueryStates(sessionFilters);
}

interface BrowserChoice {
  /** Names of columns, as in the URL; null before a first choice. */
  columns: string | null;
  choose: (columns: string) => void;
}

/** The columns chosen in this browser. All parts of the page share it. */
export const BrowserColumns = createContext<BrowserChoice>({ columns: null, choose: () => {} });

const YEAR_MS = 31_536_000_000;

/** @param cookie the choice that this browser sent with its request */
export function useBrowserChoice(cookie: string | null): BrowserChoice {
  const [columns, setColumns] = useState(cookie);
  return {
    columns,
    choose(text) {
      setColumns(text);
      // Absent without HTTPS on another machine; the choice then lasts as long as the page.
      void window.cookieStore?.set({
        name: COLUMNS_COOKIE,
        value: text,
        expires: Date.now() + YEAR_MS,
        sameSite: "strict",
      });
    },
  };
}

/** The columns to show: those of the URL, else those of this browser. */
export function useColumns(): [readonly ColumnId[], (columns: readonly ColumnId[]) => void] {
  const [filters, set] = useSessionFilters();
  const { columns, choose } = useContext(BrowserColumns);
  const text = filters.columns ?? columns;
  return [
    useMemo(() => parseColumns(text), [text]),
    (next) => {
      const chosen = serializeColumns(next);
      choose(chosen);
      if (filters.columns !== null) void set({ columns: chosen });
    },
  ];
}

/**
 * The range of a page, which moves on with every minute. While it is pinned it stays, for up to an hour, so that the rows
 * already loaded stay loaded.
 */
export function usePinnedPeriod(pinned: boolean): Period {
  const [choice] = useRange();
  const period = usePeriod();
  const range = serializeRange(choice);
  const [kept, setKept] = useState({ range, period });
  const age = Date.parse(period.to) - Date.parse(kept.period.to);
  const stays = kept.range === range && (age === 0 || (pinned && age > 0 && age < PINNED_FOR_MS));
  if (stays && kept.period.from <= period.from) return kept.period;
  setKept({ range, period });
  return period;
}
