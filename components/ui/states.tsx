/** @jsxImportSource #jsx */
"use client";

import { RotateCw, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { codeOf } from "../query-client.ts";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { CodeText } from "./code-text.tsx";

export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cn("skeleton block", className)} />;
}

interface Failure {
  /** Completes the sentence "Failed to load …". */
  what: string;
  error: unknown;
  retry: () => void;
  className?: string;
}

/** Error message with a retry button. */
export function ErrorState({ what, error, retry, className = "py-10" }: Failure) {
  const unreachable = codeOf(error) === undefined;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div role="alert" className={cn("flex flex-col items-center gap-2 px-6 text-center", className)}>
      <TriangleAlert aria-hidden className="size-5 text-hard" />
      <p className="font-medium">Failed to load {what}</p>
      <p className="max-w-md text-[13px] text-muted wrap-anywhere">
        {unreachable ? (
          "The server did not respond. Check that it is running. Recorded data is safe, and this page updates when the server is back."
        ) : (
          <CodeText>{message}</CodeText>
        )}
      </p>
      <Button onClick={retry} className="mt-1">
        <RotateCw aria-hidden /> Try again
      </Button>
    </div>
  );
}

interface Loading {
  isError: boolean;
  error: unknown;
  refetch: () => unknown;
}

/** Shown while there is no data: a placeholder, or the error. `className` gives the height of the placeholder. */
export function NotLoaded({ query, what, className }: { query: Loading; what: string; className: string }) {
  if (!query.isError) return <Skeleton className={className} />;
  return <ErrorState what={what} error={query.error} retry={() => query.refetch()} className="py-5" />;
}

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center" data-testid="empty">
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="max-w-lg text-[13px] text-muted">{children}</div>}
    </div>
  );
}
