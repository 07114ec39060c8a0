/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { groupText, type MarkGroup } from "../charts/marks.ts";
import { fullTime } from "../format.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/states.tsx";
import { beforeAfterText } from "./before-after-text.ts";
import { useFleetQueries } from "./use-fleet-queries.ts";

interface Props {
  group: MarkGroup;
  /** The range of the charts. */
  range: { from: string; to: string; harness?: string };
  onClose: () => void;
}

/** What changed since a mark of the charts. */
export function BeforeAfterLine({ group, range, onClose }: Props) {
  const { trpc } = useFleetQueries();
  const { data, error, refetch } = useQuery(trpc.beforeAfter.queryOptions({ ...range, at: group.at }));
  const text = data && beforeAfterText(data);
  return (
    <section
      aria-label="Before and after"
      data-testid="before-after"
      className="panel col-span-full flex items-center gap-x-3 py-1.5 pr-1.5 pl-4 text-[13px]"
    >
      <p className="min-w-0 flex-1" aria-live="polite">
        <span title={fullTime(Date.parse(group.at))}>
          Since <span className="font-semibold wrap-anywhere">{groupText(group)}</span>:
        </span>{" "}
        {text?.change ?? (error === null && "…")}
        {text !== undefined && <span className="block text-xs text-faint">{text.sample}</span>}
      </p>
      {error !== null && data === undefined && (
        <ErrorState what="the comparison" error={error} retry={() => refetch()} className="py-0" />
      )}
      <Button look="ghost" size="icon" aria-label="Close the comparison" onClick={onClose}>
        <X aria-hidden />
      </Button>
    </section>
  );
}
