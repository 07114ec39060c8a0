"use client";

import { Columns2, Download, X } from "lucide-react";
import type { ReactNode } from "react";
import { toast } from "sonner";
import { exact } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { compareHref } from "./compare-href.ts";
import { downloadCsv } from "./download-csv.ts";
import { type Tagged, TagMenu } from "./tag-menu.tsx";

interface Props {
  ids: readonly string[];
  /** The loaded rows; the selected ones are among them. */
  rows: readonly Tagged[];
  clear: () => void;
  /** Further actions on the selected sessions. */
  children?: ReactNode;
}

/** What can be done with the selected sessions. */
export function SelectionBar({ ids, rows, clear, children }: Props) {
  const [first, second] = ids;
  return (
    <div role="toolbar" aria-label="Selected sessions" className="flex min-w-0 items-center gap-1.5">
      <span role="status" className="mr-1 text-[13px] font-medium whitespace-nowrap">
        {exact(ids.length)} selected
      </span>
      <TagMenu ids={ids} rows={rows} />
      {ids.length === 2 && first !== undefined && second !== undefined && (
        <Button size="small" asChild>
          <Link href={compareHref(first, second)}>
            <Columns2 aria-hidden /> Compare
          </Link>
        </Button>
      )}
      <Button
        size="small"
        aria-label="Export the selection as CSV"
        onClick={() =>
          void downloadCsv(ids).catch((error: unknown) =>
            toast.error(`The export failed: ${error instanceof Error ? error.message : String(error)}`),
          )
        }
      >
        <Download aria-hidden /> CSV
      </Button>
      {children}
      <Button size="small" look="ghost" aria-label="Clear the selection" onClick={clear}>
        <X aria-hidden /> <span className="max-sm:sr-only">Clear</span>
      </Button>
    </div>
  );
}
