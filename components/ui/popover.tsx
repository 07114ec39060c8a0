/** @jsxImportSource #jsx */
"use client";

import { Slot } from "radix-ui";
import { type ReactElement, type ReactNode, useId, useRef, useState } from "react";
import { useOverlays } from "./lazy-overlays.ts";

interface Props {
  /** The button that opens the popover. */
  trigger: ReactElement;
  /** Accessible name of the popover. */
  label: string;
  align: "start" | "end";
  /** Classes of the panel. */
  className?: string;
  /** Returns the content. */
  children: (close: () => void) => ReactNode;
}

/** A button that opens a panel with controls. */
export function Popover({ trigger, label, align, className, children }: Props) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLElement>(null);
  const id = useId();
  const overlays = useOverlays(open, () => setOpen(false));
  return (
    <>
      <Slot.Root
        ref={anchor}
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {trigger}
      </Slot.Root>
      {overlays && (
        <overlays.PopoverPanel
          anchor={anchor}
          id={id}
          label={label}
          open={open}
          onOpenChange={setOpen}
          align={align}
          className={className}
        >
          {open && children(() => setOpen(false))}
        </overlays.PopoverPanel>
      )}
    </>
  );
}
