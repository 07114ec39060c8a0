/** @jsxImportSource #jsx */
"use client";

import { Dialog } from "radix-ui";
import { Fragment, type ReactNode } from "react";
import { cn } from "./cn.ts";
import { useIsPrepared } from "./prepared.tsx";
import { returnFocus } from "./return-focus.ts";

interface Props {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Its name, unless a `Dialog.Title` among `children` is. */
  label?: string;
  /** True if a `Dialog.Description` is among `children`. */
  isDescribed?: boolean;
  /** Called instead of focusing the first control. */
  onFocus?: () => void;
  className: string;
  children: ReactNode;
}

/**
 * What covers the page until it is closed. Its backdrop is not Radix' own: that one locks scrolling with a stylesheet, and
 * a new stylesheet makes the browser compute the style of the whole page again. `globals.css` locks scrolling here.
 */
export function Modal({
  open,
  onOpenChange,
  label,
  isDescribed = false,
  onFocus,
  className,
  children,
}: Props) {
  const isPrepared = useIsPrepared();
  // A portal would be rendered only when the dialog opens.
  const Place = isPrepared ? Fragment : Dialog.Portal;
  return (
    <Dialog.Root open={open || isPrepared} onOpenChange={onOpenChange}>
      <Place>
        <div
          data-backdrop={open || undefined}
          className="pointer-events-auto fixed inset-0 z-40 bg-black/45"
        />
        <Dialog.Content
          {...(isDescribed ? {} : { "aria-describedby": undefined })}
          {...(label === undefined ? {} : { "aria-label": label })}
          {...(onFocus === undefined
            ? {}
            : {
                onOpenAutoFocus: (event: Event) => {
                  event.preventDefault();
                  onFocus();
                },
              })}
          onCloseAutoFocus={returnFocus}
          className={cn(
            "fixed top-[12vh] left-1/2 z-50 -translate-x-1/2 rounded-xl border border-edge bg-raised shadow-2xl",
            className,
          )}
        >
          {children}
        </Dialog.Content>
      </Place>
    </Dialog.Root>
  );
}
