/** @jsxImportSource #jsx */
import type { ReactNode } from "react";

export const SELECT = "mt-1 h-9 w-full rounded-md border border-edge bg-bg px-2 text-ink";

/** What is wrong with the field at a path such as `scope.family`, in words. Undefined until a person tries to save. */
export type MistakeAt = (path: string) => string | undefined;

/** A field of a rule, with what is wrong with it. */
export function Field({ mistake, children }: { mistake: string | undefined; children: ReactNode }) {
  return (
    <div>
      {children}
      {mistake !== undefined && (
        <p role="alert" className="mt-1 text-xs text-hard">
          {mistake}
        </p>
      )}
    </div>
  );
}
