/** @jsxImportSource #jsx */
import type { ReactNode } from "react";

interface Props {
  id: string;
  title: string;
  note?: ReactNode;
  action?: ReactNode;
  children: ReactNode;
}

export function Section({ id, title, note, action, children }: Props) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="panel min-w-0 scroll-mt-4 p-5">
      <div className="mb-3 flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-60 flex-1">
          <h2 id={`${id}-title`} className="text-[15px] font-semibold">
            {title}
          </h2>
          {note !== undefined && <p className="mt-0.5 max-w-xl text-[13px] text-muted">{note}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}
