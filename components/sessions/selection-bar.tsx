/** @jsxImportSource #jsx */
"use client";

import { MOST_DELETED } from "@plimsoll/protocol/pure";
import { Columns2, Download, Trash2, X } from "lucide-react";
import { useDeletion } from "../deletion/use-deletion.ts";
import { exact } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { toast } from "../ui/toast.ts";
import { compareHref } from "./compare-href.ts";
import { downloadCsv } from "./download-csv.ts";
import { type Tagged, TagMenu } from "./tag-menu.tsx";

interface Props {
  ids: readonly string[];
  /** The loaded rows; the selected ones are among them. */
  rows: readonly Tagged[];
  clear: () => void;
  /** Called once the selected sessions are deleted. */
  deleted: () => void;
}

/** What can be done with the selected sessions. */
export function SelectionBar({ ids, rows, clear, deleted }: Props) {
  const [first, second] = ids;
  const deletion = useDeletion().sessions;
  const tooMany = ids.length > MOST_DELETED;
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
      <Button
        size="small"
        aria-label="Delete the selected sessions"
        title={tooMany ? `At most ${exact(MOST_DELETED)} sessions at once` : undefined}
        disabled={deletion.isPending || tooMany}
        onClick={() => deletion.mutate({ ids: [...ids] }, { onSuccess: deleted })}
      >
        <Trash2 aria-hidden /> <span className="max-sm:sr-only">Delete</span>
      </Button>
      <Button size="small" look="ghost" aria-label="Clear the selection" onClick={clear}>
        <X aria-hidden /> <span className="max-sm:sr-only">Clear</span>
      </Button>
    </div>
  );
}
