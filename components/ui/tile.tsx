/** @jsxImportSource #jsx */
"use client";

import { CircleHelp } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "../projects/link.tsx";
import { cn } from "./cn.ts";
import { Skeleton } from "./states.tsx";
import { Hint } from "./tooltip.tsx";

interface Props {
  label: string;
  /** Explains the number, on hover and focus. */
  explain: ReactNode;
  value: string;
  /** The exact value of a rounded number. */
  exactly?: string;
  note?: ReactNode;
  testid?: string;
  href?: string;
  /** Less high, for a row of counts. */
  compact?: boolean;
}

/** Characters above which a value is set smaller, such as `10 h 19 min`: tiles are narrow where eight stand in a row. */
const LONG = 9;

const BOX = "flex w-full flex-col justify-start px-4 text-left outline-offset-[-3px]";

/** A number with a label, and an explanation on hover, on focus and on tap. With `href` it links to what the number counts. */
export function Tile({ label, explain, value, exactly, note, testid, href, compact = false }: Props) {
  const box = cn(BOX, compact ? "py-2" : "py-3");
  const content = (
    <>
      <span className="max-w-full text-xs text-muted">{label}</span>
      <span className="flex max-w-full flex-wrap items-baseline gap-x-2 gap-y-0">
        <span
          className={cn(
            "font-semibold tracking-tight whitespace-nowrap",
            compact
              ? "text-[17px] leading-6"
              : value.length > LONG
                ? "text-[18px] leading-8"
                : "text-[23px] leading-8",
          )}
          title={exactly}
          data-value
        >
          {value}
        </span>
        {note !== undefined && note !== false && (
          <span className="min-w-0 text-xs wrap-anywhere text-faint">{note}</span>
        )}
      </span>
    </>
  );
  if (href !== undefined) {
    return (
      <div className="relative flex">
        <Hint text={explain} tap="passes">
          <Link href={href} data-testid={testid} className={cn(box, "hover:bg-track/40")}>
            {content}
          </Link>
        </Hint>
        {/* A tap on the tile follows the link, so a touch screen needs another place for the explanation. */}
        <Hint text={explain}>
          <button
            type="button"
            aria-label={`What is “${label}”?`}
            className="absolute top-0 right-0 hidden size-9 place-items-center text-faint pointer-coarse:grid"
          >
            <CircleHelp aria-hidden className="size-3.5" />
          </button>
        </Hint>
      </div>
    );
  }
  return (
    <Hint text={explain}>
      <button type="button" data-testid={testid} className={cn(box, "cursor-help")}>
        {content}
      </button>
    </Hint>
  );
}

export function TileSkeletons({ labels, compact = false }: { labels: readonly string[]; compact?: boolean }) {
  return labels.map((label) => (
    <div key={label} className={cn("px-4", compact ? "py-2" : "py-3")}>
      <span className="block text-xs text-muted">{label}</span>
      <span className={cn("flex items-center", compact ? "h-6" : "h-8")}>
        <Skeleton className="h-5 w-20" />
      </span>
    </div>
  ));
}
