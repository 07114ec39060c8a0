import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { type ObservedLines, observedLines } from "./observed-lines.ts";

const NOTHING: ObservedLines = new Map();

/** What was observed of one harness, or of all. Empty until it is loaded, and if it cannot be: the computed line needs nothing. */
export function useObservedLines(harness: string | null): ObservedLines {
  const input = harness === null ? {} : { harness };
  const query = useQuery({
    ...useTRPC().harnessLines.queryOptions(input, { placeholderData: keepPreviousData }),
    select: selectLines,
  });
  return query.data ?? NOTHING;
}

const selectLines = ({ lines }: { lines: Parameters<typeof observedLines>[0] }) => observedLines(lines);
