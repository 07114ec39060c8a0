/** @jsxImportSource #jsx */
"use client";

import { startTransition, useState } from "react";
import { useSessionFilters } from "./use-session-filters.ts";

/** The search of the list. A key shows in the field at once; the list follows when the browser has time. */
export function SearchField() {
  const [{ q }, setFilters] = useSessionFilters();
  const [text, setText] = useState(q);
  const [sent, setSent] = useState(q);
  // A chip, a view or the browser's history changed the search.
  if (q !== sent) {
    setSent(q);
    setText(q);
  }
  function search(next: string) {
    setText(next);
    startTransition(() => {
      setSent(next);
      void setFilters({ q: next === "" ? null : next });
    });
  }
  return (
    <input
      type="search"
      aria-label="Search sessions"
      placeholder="Title, ID, harness or model"
      value={text}
      onChange={(event) => search(event.target.value)}
      className="h-8 w-full rounded-[7px] border border-edge bg-panel px-3 text-[13px] placeholder:text-faint pointer-coarse:h-10 sm:w-72"
    />
  );
}
