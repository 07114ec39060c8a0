/** @jsxImportSource #jsx */
"use client";

import type { UnmappedTelemetry } from "@plimsoll/protocol/api";
import { mapCommand } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { Ago } from "../clock.tsx";
import { exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { CodeText } from "../ui/code-text.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { recordsText, unmappedReason, unmappedTitle } from "./unmapped-text.ts";

const POLL_MS = 5_000;
/** Sources that are listed at first. */
const FEW = 5;

/** Which OpenTelemetry data became no event, and what to change. Empty if all of it became events. */
export function Unmapped() {
  const { data } = useQuery(
    useTRPC().ingest.unmapped.queryOptions(undefined, { refetchInterval: POLL_MS, staleTime: 0 }),
  );
  if (data === undefined || data.sources.length === 0) return null;
  const keyOf = ({ signal, service, scope, name, reason }: UnmappedTelemetry) =>
    [signal, service, scope, name, reason].join("|");
  const items = data.sources.map((source) => <Source key={keyOf(source)} source={source} />);
  return (
    <div data-testid="unmapped" className="mt-4">
      <h3 className="mb-1 text-[13px] font-semibold">OpenTelemetry data that became no event</h3>
      <ul>{items.slice(0, FEW)}</ul>
      {items.length > FEW && (
        <details className="border-t pt-2.5 text-[13px]">
          <summary className="cursor-pointer text-muted">{exact(items.length - FEW)} more</summary>
          <ul className="mt-2">{items.slice(FEW)}</ul>
        </details>
      )}
    </div>
  );
}

function Source({ source }: { source: UnmappedTelemetry }) {
  const { signal, attributes, count, last_at } = source;
  return (
    <li className="border-t py-2.5 text-[13px]">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p className="min-w-0 font-medium wrap-anywhere">
          <CodeText>{unmappedTitle(source)}</CodeText>
        </p>
        <p className="text-xs text-faint">
          {exact(count)} {recordsText(signal, count)}, last <Ago at={last_at} />
        </p>
      </div>
      <p className="text-muted wrap-anywhere">
        <CodeText>{unmappedReason(source)}</CodeText>
      </p>
      {isMappable(source) && <MapCommand command={mapCommand(source)} />}
      {attributes.length > 0 && (
        <details className="mt-1">
          <summary className="cursor-pointer text-xs text-muted">
            Names of the newest record's attributes, without values
          </summary>
          <p className="mt-1 max-h-64 overflow-auto rounded-lg bg-track p-3 font-mono text-xs wrap-anywhere">
            {attributes.join(", ")}
          </p>
        </details>
      )}
    </li>
  );
}

const isMappable = ({ reason, counts_tokens, mapped_by }: UnmappedTelemetry) =>
  reason === "unknown_dialect" && counts_tokens && mapped_by === null;

function MapCommand({ command }: { command: string }) {
  return (
    <div className="mt-1 flex items-center gap-2">
      <code className="min-w-0 flex-1 rounded bg-track px-2 py-1 font-mono text-xs wrap-anywhere">
        {command}
      </code>
      <CopyButton text={command} label="Copy command" />
    </div>
  );
}
