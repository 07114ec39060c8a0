/** @jsxImportSource #jsx */
"use client";

import { ChevronRight, CircleHelp, X } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { Button } from "../ui/button.tsx";
import { Dismissals } from "./use-dismissals.ts";

interface Props {
  testid: string;
  label: string;
  /** What is dismissed with it. It comes back when it is about one more. */
  about: readonly string[];
  /** One line. */
  summary: ReactNode;
  /** What mends it at one click. */
  action?: ReactNode;
  children: ReactNode;
}

/** A notice of one line that opens, and stays away once it is dismissed. */
export function Notice({ testid, label, about, summary, action, children }: Props) {
  const { dismiss } = useContext(Dismissals);
  return (
    <section
      aria-label={label}
      data-testid={testid}
      className="panel relative mb-3 border-warn py-1.5 pr-10 pl-3 text-[13px]"
    >
      <div className="group/notice flex flex-wrap items-center gap-x-3 gap-y-1">
        <details className="group min-w-0 flex-1 open:basis-full">
          <summary className="flex min-h-7 list-none items-center gap-x-2 [&::-webkit-details-marker]:hidden">
            <CircleHelp aria-hidden className="size-4 shrink-0 text-warn-ink" />
            <span className="min-w-0 truncate font-medium group-open:whitespace-normal">{summary}</span>
            <ChevronRight
              aria-hidden
              className="size-3.5 shrink-0 text-faint transition-transform group-open:rotate-90"
            />
          </summary>
          <div className="pt-1 pb-1.5 pl-6 text-muted">{children}</div>
        </details>
        {/* On a phone, the line has no room for it. */}
        <div className="max-sm:hidden max-sm:group-has-[details[open]]/notice:block max-sm:pl-6">
          {action}
        </div>
      </div>
      <Button
        look="ghost"
        size="icon"
        className="absolute top-0.5 right-1"
        aria-label={`Dismiss: ${label}`}
        title="Dismiss until it changes"
        onClick={() => dismiss(about)}
      >
        <X aria-hidden />
      </Button>
    </section>
  );
}
