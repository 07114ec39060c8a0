/** @jsxImportSource #jsx */
import type { AlertAttempt } from "@plimsoll/protocol/api";
import { duration } from "../format.ts";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { outcomeText } from "./alert-text.ts";

/** What was sent and what came back. Both are shown as text, whatever they contain. */
export function AttemptView({ attempt }: { attempt: AlertAttempt }) {
  const { outcome, status, duration_ms, request, answer } = attempt;
  return (
    <div className="mt-1 rounded-md border border-rule p-2.5 text-[13px]">
      <p className={outcome === "delivered" ? "text-ok" : "text-hard"}>
        {outcomeText(outcome, status)} after {duration(duration_ms)}
      </p>
      {answer !== "" && <Text label="Answer" text={answer} />}
      <details className="mt-1">
        <summary className="cursor-pointer text-muted">Request</summary>
        <Text label="Request" text={request} />
      </details>
    </div>
  );
}

function Text({ label, text }: { label: string; text: string }) {
  return (
    <ScrollRegion label={label} className="mt-1 max-h-56 overflow-auto rounded bg-track p-2">
      <pre className="font-mono text-xs whitespace-pre-wrap wrap-anywhere">{text}</pre>
    </ScrollRegion>
  );
}
