/** @jsxImportSource #jsx */
"use client";

import { type ReactNode, useEffect, useRef, useState } from "react";
import { tooltipBox } from "../chart-frame.tsx";
import type { ShownSpan } from "./alert-spans.tsx";

/** Time to move the pointer from a span to its card. */
const GRACE_MS = 200;

/** The card of one alert. It stays while the pointer or the focus is on its span or on the card. */
export function useAlertCard() {
  const [shown, setShown] = useState<ShownSpan | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => () => clearTimeout(timer.current), []);

  function show(next: ShownSpan) {
    clearTimeout(timer.current);
    setShown(next);
  }
  function hide(to: EventTarget | null) {
    clearTimeout(timer.current);
    if (to instanceof Node && box.current?.contains(to)) return;
    timer.current = setTimeout(() => {
      if (!box.current?.contains(document.activeElement)) setShown(null);
    }, GRACE_MS);
  }
  return { shown, box, show, hide, keep: () => clearTimeout(timer.current), close: () => setShown(null) };
}

export function AlertCard({
  shown: { x, y },
  card: { box, hide, keep, close },
  children,
}: {
  shown: ShownSpan;
  card: ReturnType<typeof useAlertCard>;
  children: ReactNode;
}) {
  useEffect(() => {
    function closeOnEscape(event: KeyboardEvent) {
      if (event.key !== "Escape") return;
      // A dialog around the chart stays open.
      event.stopPropagation();
      close();
    }
    window.addEventListener("keydown", closeOnEscape, { capture: true });
    return () => window.removeEventListener("keydown", closeOnEscape, { capture: true });
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: stays open while the pointer is on it
    <div
      ref={box}
      data-testid="alert-card"
      className={`${tooltipBox} absolute z-10 w-72 max-w-full`}
      style={{ left: `clamp(0px, ${x - 40}px, calc(100% - 288px))`, top: y }}
      onMouseEnter={keep}
      onMouseLeave={() => hide(null)}
      onBlur={({ relatedTarget }) => hide(relatedTarget)}
    >
      {children}
    </div>
  );
}
