/** @jsxImportSource #jsx */
"use client";

import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { LiveIndicator } from "../live/live-indicator.tsx";
import { ProjectSwitcher } from "../projects/switcher.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Logo } from "./logo.tsx";
import { useShellActions } from "./shell-actions.ts";
import { ThemeButton } from "./theme-button.tsx";

interface Props {
  title: string;
  crumb?: ReactNode;
  chips?: ReactNode;
  /** True if nothing on the page changes any more, so that it does not claim to be live. */
  isOver?: boolean;
  /** Controls of this page, left of the search. */
  children?: ReactNode;
}

export function PageHeader({ title, crumb, chips, isOver = false, children }: Props) {
  const { openSearch } = useShellActions();
  return (
    <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
      <div className="flex w-full items-center gap-2 md:hidden">
        <Logo className="size-5 shrink-0" />
        <span className="text-sm font-semibold">Plimsoll</span>
        <ProjectSwitcher />
        <span className="ml-auto" />
        {!isOver && <LiveIndicator />}
        <Button look="ghost" size="icon" onClick={openSearch} aria-label="Search">
          <Search aria-hidden />
        </Button>
        <ThemeButton />
      </div>
      <div className="min-w-0 max-md:w-full md:flex md:max-w-[72%] md:items-baseline md:gap-x-2">
        {crumb !== undefined && (
          <div className="mb-0.5 text-[13px] text-faint md:mb-0 md:max-w-80 md:shrink-0">{crumb}</div>
        )}
        <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1.5">
          {/* Phones have no hover, so a long title wraps instead of being truncated. */}
          <h1
            dir="auto"
            className="max-w-full min-w-0 text-left text-[19px] leading-8 font-semibold tracking-tight max-md:line-clamp-5 max-md:leading-6.5 max-md:wrap-anywhere md:truncate"
            title={title}
          >
            {title}
          </h1>
          {chips}
        </div>
      </div>
      <div className={cn("flex flex-wrap items-center gap-2", !children && "max-md:hidden")}>
        {!isOver && (
          <span className="mr-1 hidden md:inline-flex">
            <LiveIndicator />
          </span>
        )}
        {children}
        <Button onClick={openSearch} aria-keyshortcuts="Control+K" className="max-md:hidden">
          <Search aria-hidden /> Search <kbd className="ml-1 font-sans text-faint">Ctrl K</kbd>
        </Button>
      </div>
    </div>
  );
}

export function Chip({
  children,
  title,
  tone = "plain",
}: {
  children: ReactNode;
  title?: string;
  tone?: "plain" | "warn";
}) {
  return (
    <span
      title={title}
      className={`inline-flex max-w-72 items-center gap-1 truncate rounded-full border px-2 py-px text-xs ${
        tone === "warn" ? "border-warn text-warn-ink" : "border-rule text-muted"
      }`}
    >
      {children}
    </span>
  );
}
