"use client";

import { Tooltip } from "radix-ui";
import { type ReactNode, useState } from "react";

export function TooltipProvider({ children }: { children: ReactNode }) {
  return <Tooltip.Provider delayDuration={250}>{children}</Tooltip.Provider>;
}

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
  /** What a click does: opens the tooltip, what the child itself does, or both. */
  tap?: "opens" | "passes" | "both";
}) {
  const [open, setOpen] = useState(false);
  return (
    <Tooltip.Root open={open} onOpenChange={setOpen}>
      <Tooltip.Trigger
        asChild
        onClick={(event) => {
          if (tap === "passes") return;
          // By default a click closes the tooltip.
          event.preventDefault();
          setOpen(true);
        }}
      >
        {children}
      </Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          side={side}
          sideOffset={6}
          collisionPadding={10}
          className="z-50 max-w-72 rounded-lg border border-edge bg-raised px-3 py-2 text-xs leading-relaxed text-ink shadow-lg"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
