/** @jsxImportSource #jsx */
import type { ReactNode } from "react";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { Term } from "../ui/term.tsx";

interface Props<Data> {
  title: string;
  /** Of the element, for links to it. */
  id?: string;
  hint: string;
  /** What could not be loaded, in words. */
  what: string;
  /** Undefined while loading. */
  data: Data | undefined;
  /** Why it failed to load; null if it did not. */
  error: unknown;
  retry: () => void;
  /** What stays above the data, also where they failed to load. */
  controls?: ReactNode;
  children: (data: Data) => ReactNode;
}

/** A part of Insights: its title with a hint, and what it shows once that is loaded. */
export function InsightPanel<Data>(props: Props<Data>) {
  const { title, id, hint, what, data, error, retry, controls, children } = props;
  return (
    <section id={id} aria-label={title} className="panel @container min-w-0 px-4 py-3.5">
      <h2 className="text-[13px] font-semibold">
        <Term here={hint}>{title}</Term>
      </h2>
      {controls}
      {data !== undefined ? (
        children(data)
      ) : error === null ? (
        <Skeleton className="mt-2 h-24" />
      ) : (
        <ErrorState what={what} error={error} retry={retry} className="py-4" />
      )}
    </section>
  );
}
