import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type MarkGroup, markGroups } from "../charts/marks.ts";
import type { MarksShown } from "../charts/marks-lane.tsx";
import { isSameData } from "../charts/same-picture.ts";
import { useDrawn } from "../charts/use-drawn.ts";
import { useTRPC } from "../trpc.ts";
import { keep } from "./use-fleet-queries.ts";

const NONE: MarkGroup[] = [];

/** The marks of the charts, and the one that was chosen. */
export function useMarks(
  range: { from: string; to: string; harness?: string },
  enabled: boolean,
): { shown: MarksShown; chosen: MarkGroup | undefined } {
  const { data } = useQuery(useTRPC().marks.queryOptions(range, { ...keep, enabled }));
  const [at, onChoose] = useState<string | null>(null);
  const groups = useDrawn(
    data === undefined ? NONE : markGroups(data.marks, Date.parse(range.from), Date.parse(range.to)),
    isSameData,
  );
  const chosen = groups.find((group) => group.at === at);
  const shown = useMemo(() => ({ groups, chosen: chosen?.at ?? null, onChoose }), [groups, chosen?.at]);
  return { shown, chosen };
}
