/** @jsxImportSource #jsx */
"use client";

import { Slot } from "radix-ui";
import {
  type ComponentProps,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { useOverlays } from "./lazy-overlays.ts";
import type { TooltipPanel } from "./overlays.tsx";

/** Milliseconds that the pointer rests before the tooltip opens, and in which it may move onto the tooltip. */
const OPEN_MS = 250;
const LEAVE_MS = 120;

/** Closes the open tooltip: at most one is open. */
let closeOther: (() => void) | undefined;

/** A tooltip on hover and focus, and on tap unless `children` is a link. `children` must be one focusable element. */
export function Hint({
  text,
  children,
  side = "bottom",
  tap = "opens",
}: {
  text: ReactNode;
  children: ReactNode;
  side?: "top" | "bottom";
  /** Whether a click opens the tooltip, beside what the child itself does, or only does what the child does. */
  tap?: "opens" | "passes";
}) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const anchor = useRef<HTMLElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [close] = useState(() => () => {
    clearTimeout(timer.current);
    setOpen(false);
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      if (closeOther === close) closeOther = undefined;
    },
    [close],
  );
  function show() {
    clearTimeout(timer.current);
    if (closeOther !== close) closeOther?.();
    closeOther = close;
    setOpen(true);
  }
  function enter({ pointerType }: PointerEvent) {
    if (pointerType === "touch") return;
    clearTimeout(timer.current);
    timer.current = setTimeout(show, OPEN_MS);
  }
  function leave({ pointerType }: PointerEvent) {
    if (pointerType === "touch") return;
    clearTimeout(timer.current);
    timer.current = setTimeout(close, LEAVE_MS);
  }
  return (
    <>
      <Slot.Root
        ref={anchor}
        aria-describedby={open ? id : undefined}
        onPointerEnter={enter}
        onPointerLeave={leave}
        // A click focuses too; it decides for itself.
        onFocus={({ currentTarget }) => currentTarget.matches(":focus-visible") && show()}
        onBlur={close}
        onClick={tap === "passes" ? close : show}
      >
        {children}
      </Slot.Root>
      {open && (
        <Panel
          anchor={anchor}
          id={id}
          side={side}
          onClose={close}
          onPointerEnter={show}
          onPointerLeave={leave}
        >
          {text}
        </Panel>
      )}
    </>
  );
}

/** Apart from its anchor: a page has dozens of these, and each would render again when the overlays are loaded. */
function Panel(props: ComponentProps<typeof TooltipPanel>) {
  const overlays = useOverlays(true, props.onClose);
  return overlays && <overlays.TooltipPanel {...props} />;
}
