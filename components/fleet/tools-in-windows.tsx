/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { toolsInShort } from "../contents-words.ts";
import { Link } from "../projects/link.tsx";
import { serializeRange } from "../range.ts";
import { cn } from "../ui/cn.ts";
import { useHarness, useRange } from "../url.ts";
import { keep, useRangeQueries } from "./use-fleet-queries.ts";

/** Which tools take most of the windows of the range, in one line that leads to the table of Insights. Nothing where no source tells. */
export function ToolsInWindows({ className }: { className?: string }) {
  const { trpc, range } = useRangeQueries();
  const [choice] = useRange();
  const [harness] = useHarness();
  const { data } = useQuery(trpc.contents.queryOptions(range, keep));
  if (data === undefined || data.tools.length === 0) return null;
  const params = new URLSearchParams({ range: serializeRange(choice) });
  if (harness !== null) params.set("harness", harness);
  return (
    <Link
      href={`/insights?${params}#tools`}
      data-testid="tools-in-windows"
      className={cn(
        "min-w-0 text-[13px] text-muted underline-offset-2 hover:text-ink hover:underline",
        className,
      )}
    >
      {toolsInShort(data.tools)}
    </Link>
  );
}
