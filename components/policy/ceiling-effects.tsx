/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { day } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { effectText, verdictText } from "./effect-text.ts";

/** What the latest change of ceilings did to failed tool calls. Nothing without one that can be judged. */
export function CeilingEffects({ onRollBack }: { onRollBack: (generation: number) => void }) {
  const query = useQuery(useTRPC().policies.effects.queryOptions());
  const { data } = query;
  if (query.isLoadingError) return <NotLoaded query={query} what="what ceilings did" className="h-16" />;
  if (data === undefined || data.items.length === 0) return null;
  const { generation, before, judged_from: judgedFrom, items } = data;
  const isMissed = items.some(({ verdict }) => verdict === "missed");
  return (
    <section aria-label={`What generation ${generation} did`} className="mb-4 text-[13px]">
      <h3 className="font-medium">What the ceilings of generation {generation} did</h3>
      <p className="text-xs text-faint">
        Sessions of the four weeks before it was saved, and those of harnesses that applied it. Judged from{" "}
        {day(Date.parse(judgedFrom!))} on.
      </p>
      <ul className="mt-1 grid gap-1.5">
        {items.map((effect) => (
          <li key={`${effect.harness}\n${effect.model}`}>
            <Name>{effect.harness}</Name> <span className="text-muted">· {effect.model}:</span>{" "}
            <span
              className={cn(
                "font-medium",
                effect.verdict === "met" && "text-ok",
                effect.verdict === "missed" && "text-warn-ink",
              )}
            >
              {verdictText(effect)}
            </span>
            <span className="block text-muted">{effectText(effect)}</span>
          </li>
        ))}
      </ul>
      {isMissed && before !== null && (
        <Button size="small" className="mt-2" onClick={() => onRollBack(before)}>
          Roll back to generation {before}…
        </Button>
      )}
    </section>
  );
}
