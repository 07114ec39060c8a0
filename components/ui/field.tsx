/** @jsxImportSource #jsx */
import type { ComponentProps, ReactNode } from "react";

interface Props extends Omit<ComponentProps<"input">, "className"> {
  label: ReactNode;
}

/** A text field with its label above it. */
export function TextField({ label, ...input }: Props) {
  return (
    <label className="block text-[13px] text-muted">
      {label}
      <input
        className="mt-1 h-9 w-full rounded-md border border-edge bg-bg px-2.5 text-ink placeholder:text-faint aria-invalid:border-hard"
        {...input}
      />
    </label>
  );
}

/** Why a form was not accepted. */
export function FormError({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="mt-3 text-[13px] text-hard">
      {children}
    </p>
  );
}
