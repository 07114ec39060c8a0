import type { CSSProperties, ReactNode, Ref } from "react";

interface Props {
  label: string;
  className?: string;
  style?: CSSProperties;
  ref?: Ref<HTMLElement>;
  children: ReactNode;
}

/** What scrolls must be reachable by keyboard, or its hidden part is not. */
export function ScrollRegion({ label, ref, children, ...rest }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: focus is what lets the arrow keys scroll it
    <section ref={ref} tabIndex={0} aria-label={label} {...rest}>
      {children}
    </section>
  );
}
