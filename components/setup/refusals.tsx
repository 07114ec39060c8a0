/** @jsxImportSource #jsx */
"use client";

import type { IngestRefusal } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { Ago } from "../clock.tsx";
import { exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { CodeText } from "../ui/code-text.tsx";
import { EVENT_RULES, ruleOf } from "./event-rules.ts";
import { refusalTitle } from "./refusal-text.ts";

const POLL_MS = 5_000;

/** What is wrong with refused events: field, harness, an example and the rule. Empty if none were refused. */
export function Refusals() {
  const { data } = useQuery(
    useTRPC().ingest.refusals.queryOptions(undefined, { refetchInterval: POLL_MS, staleTime: 0 }),
  );
  if (data === undefined || data.refusals.length === 0) return null;
  return (
    <div data-testid="refusals" className="mt-4">
      <h3 className="mb-1 text-[13px] font-semibold">Refused events</h3>
      <ul>
        {data.refusals.map((refusal) => (
          <Refusal
            key={`${refusal.harness}|${refusal.type}|${refusal.code}|${refusal.path}`}
            refusal={refusal}
          />
        ))}
      </ul>
      <Rules />
    </div>
  );
}

function Refusal({ refusal }: { refusal: IngestRefusal }) {
  const { harness, path, message, example, count, last_at } = refusal;
  const rule = ruleOf(path);
  return (
    <li className="border-t py-2.5 text-[13px]">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p className="min-w-0 font-medium wrap-anywhere">
          <CodeText>{refusalTitle(refusal)}</CodeText>
        </p>
        <p className="text-xs text-faint">
          {exact(count)}, last <Ago at={last_at} />
        </p>
      </div>
      <p className="text-muted wrap-anywhere">
        {harness ?? "No harness named"}: {message}{" "}
        {rule !== undefined && (
          <a href={`#rule-${rule}`} onClick={openRules} className="text-accent underline underline-offset-2">
            See the rule
          </a>
        )}
      </p>
      {example !== "" && (
        <details className="mt-1">
          <summary className="cursor-pointer text-xs text-muted">Newest example, texts removed</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre tabIndex={0} className="mt-1 max-h-64 overflow-auto rounded-lg bg-track p-3 font-mono text-xs">
            {example}
          </pre>
        </details>
      )}
    </li>
  );
}

const RULES = "event-rules";

/** A target inside a closed `details` cannot be scrolled to. */
function openRules(): void {
  document.getElementById(RULES)?.setAttribute("open", "");
}

function Rules() {
  return (
    <details id={RULES} className="border-t pt-2.5 text-[13px]">
      <summary className="cursor-pointer text-muted">Rules for the fields of an event</summary>
      <dl className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        {Object.entries(EVENT_RULES).map(([path, rule]) => (
          <div
            key={path}
            id={`rule-${path}`}
            className="col-span-2 grid scroll-mt-4 grid-cols-subgrid rounded target:bg-track"
          >
            <dt className="font-mono text-xs leading-5">{path === "" ? "event" : path}</dt>
            <dd className="text-muted">{rule}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-xs text-faint">docs/protocol.md describes all event types and their fields.</p>
    </details>
  );
}
