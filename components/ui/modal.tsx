"use client";

import { Dialog } from "radix-ui";
import type { ReactNode } from "react";
import { cn } from "./cn.ts";

interface Props {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Its name, unless a `Dialog.Title` among `children` is. */
  label?: string;
  /** True if a `Dialog.Description` is among `children`. */
  isDescribed?: boolean;
  className: string;
  children: ReactNode;
}

/**
 * What covers the page until it is closed. Its backdrop is not Radix' own: that one locks scrolling with a stylesheet, and
 * a new stylesheet makes the browser compute the style of the whole page again. `globals.css` locks scrolling here.
 */
export function Modal({ open, onOpenChange, label, isDescribed = false, className, children }: Props) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <div data-backdrop className="pointer-events-auto fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          {...(isDescribed ? {} : { "aria-describedby": undefined })}
          {...(label === undefined ? {} : { "aria-label": label })}
          className={cn(
            "fixed top-[12vh] left-1/2 z-50 -translate-x-1/2 rounded-xl border border-edge bg-raised shadow-2xl",
            className,
          )}
        >
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
