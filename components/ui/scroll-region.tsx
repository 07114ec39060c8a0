/** @jsxImportSource #jsx */
import type { CSSProperties, ReactNode, Ref } from "react";

interface Props {
  label: string;
  className?: string;
  style?: CSSProperties;
  ref?: Ref<HTMLElement>;
  children: ReactNode;
}

/** A scrollable region that takes focus, so that the keyboard can scroll it. */
export function ScrollRegion({ label, ref, children, ...rest }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll the focused element
    <section ref={ref} tabIndex={0} aria-label={label} {...rest}>
      {children}
    </section>
  );
}
