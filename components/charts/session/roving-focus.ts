import { type KeyboardEvent, useState } from "react";

/** One tab stop for a group of symbols; arrow keys move between those that match `selector`. */
export function useRovingFocus(count: number, selector: string) {
  const [active, setActive] = useState(0);
  const stop = Math.min(active, count - 1);

  function onKeyDown(event: KeyboardEvent<SVGGElement>) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.min(count - 1, Math.max(0, stop + step));
    setActive(next);
    event.currentTarget.querySelectorAll<SVGGElement>(selector)[next]?.focus();
  }
  return { onKeyDown, setActive, tabIndexOf: (index: number) => (index === stop ? 0 : -1) };
}
