/** @jsxImportSource #jsx */
"use client";

import { harnessLineText, isDifferent, verdictText } from "@plimsoll/fold";
import { lineCauseText } from "@plimsoll/harnesses/lines";
import type { SessionAgent } from "@plimsoll/protocol/api";
import { TriangleAlert } from "lucide-react";
import { observedOf } from "../harness-line/observed-lines.ts";
import { useObservedLines } from "../harness-line/use-observed-lines.ts";
import { Term } from "../ui/term.tsx";

interface Props {
  harness: string;
  agent: SessionAgent;
}

/** Where the harness of an agent compacts by itself, what was observed of it, and the usual causes if the two differ. */
export function HarnessLine({ harness, agent }: Props) {
  const observed = observedOf(useObservedLines(harness), harness, agent);
  const line = observed?.line ?? agent.harness_line;
  const text = harnessLineText(line, observed);
  if (text === "") return null;
  const verdict = observed === undefined ? "" : verdictText(line, observed);
  const differs = observed !== undefined && isDifferent(observed.verdict);
  return (
    <div
      data-testid="harness-line"
      data-differs={differs || undefined}
      className="border-t px-4 py-2 text-[13px] text-muted"
    >
      <p className="wrap-anywhere">
        <Term word="harness_line" className="mr-1.5 font-medium text-ink">
          Own line
        </Term>
        {differs && <TriangleAlert aria-hidden className="mr-1 inline size-3.5 align-[-2px] text-warn-ink" />}
        {text}
        {verdict !== "" && (
          <>
            {" "}
            <span className={differs ? "text-warn-ink" : undefined}>{verdict}</span>
          </>
        )}
      </p>
      {observed !== undefined && observed.causes.length > 0 && (
        <details>
          <summary className="w-fit cursor-pointer py-0.5 leading-5 text-accent">Usual causes</summary>
          <ul className="list-disc pl-5">
            {observed.causes.map((cause) => (
              <li key={cause} className="wrap-anywhere">
                {lineCauseText(cause, harness)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
