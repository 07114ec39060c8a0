/** @jsxImportSource #jsx */

import { harnessLineText, isDifferent, shortLineText, verdictText } from "@plimsoll/fold";
import type { FleetAgent, ObservedHarnessLine } from "@plimsoll/protocol/api";
import { TriangleAlert } from "lucide-react";
import { cn } from "../ui/cn.ts";

interface Props {
  agent: FleetAgent;
  observed: ObservedHarnessLine | undefined;
}

/** Where the harness compacts by itself, such as `compacts at 167k (computed)`. */
export function HarnessLineNote({ agent, observed }: Props) {
  const line = observed?.line ?? agent.harness_line;
  const text = shortLineText(line, observed);
  if (text === "") return null;
  const differs = observed !== undefined && isDifferent(observed.verdict);
  const more = observed === undefined ? "" : verdictText(line, observed);
  return (
    <span
      data-testid="harness-line"
      data-differs={differs || undefined}
      title={[harnessLineText(line, observed), more].filter((part) => part !== "").join(" ")}
      className={cn(
        "flex min-w-0 items-center gap-1 text-xs leading-4",
        differs ? "text-warn-ink" : "text-faint",
      )}
    >
      {differs && <TriangleAlert aria-hidden className="size-3 shrink-0" />}
      <span className="min-w-0 truncate">{text}</span>
    </span>
  );
}
