/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { SelectMenu } from "../ui/select-menu.tsx";
import { useHarness } from "../url.ts";

const ALL = "";

export function HarnessFilter() {
  const [harness, setHarness] = useHarness();
  const { data } = useQuery(useTRPC().harnesses.queryOptions({}));
  const names = new Set((data?.harnesses ?? []).map(({ instance }) => instance));
  // A shared link may name a harness this server does not know.
  if (harness !== null) names.add(harness);
  const more = data?.more ?? 0;
  const options = [
    { value: ALL, label: "All harnesses", ...(more > 0 && { note: `${exact(more)} not listed` }) },
    ...[...names].sort().map((value) => ({ value, label: value })),
  ];
  return (
    <SelectMenu
      name="Harness"
      value={harness ?? ALL}
      options={options}
      onChange={(next) => void setHarness(next === ALL ? null : next)}
    />
  );
}
