/** @jsxImportSource #jsx */
"use client";

import { Command } from "cmdk";
import { X } from "lucide-react";
import { Dialog, Popover, Portal } from "radix-ui";
import { DismissableLayer, Menu, Popper } from "radix-ui/internal";
import { type ComponentProps, type ReactNode, type RefObject, useRef } from "react";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { Modal } from "./modal.tsx";

// Only lazy-overlays.ts imports this file: it brings most of Radix with it. cmdk imports the same of Radix, so it is here too.

export { Command, Menu, Modal };

interface Anchored {
  /** The trigger. It is part of the page's first load, so it is no child of the overlay. */
  anchor: RefObject<HTMLElement | null>;
  id: string;
  className?: string | undefined;
  children: ReactNode;
}

interface Openable extends Anchored {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  align: "start" | "end";
}

const GAP = 6;
const MARGIN = 10;
const PANEL = "z-50 rounded-lg border border-edge bg-raised text-[13px] shadow-xl";

/** Returns the focus to the trigger, unless the reader closed the overlay by using something else. */
function useReturnFocus(anchor: RefObject<HTMLElement | null>) {
  const hasLeft = useRef(false);
  return {
    onCloseAutoFocus(event: Event) {
      event.preventDefault();
      if (!hasLeft.current) anchor.current?.focus();
      hasLeft.current = false;
    },
    onInteractOutside(event: CustomEvent) {
      // The trigger closes the overlay itself; closed here too, its click would open it again.
      if (event.target instanceof Node && anchor.current?.contains(event.target)) event.preventDefault();
      else hasLeft.current = true;
    },
  };
}

export function MenuPanel({ anchor, id, open, onOpenChange, align, className, children }: Openable) {
  const handlers = useReturnFocus(anchor);
  return (
    // Not modal: a modal menu hides the page from assistive technology while its controls stay focusable.
    <Menu.Root open={open} onOpenChange={onOpenChange} modal={false}>
      <Menu.Anchor virtualRef={anchor as RefObject<HTMLElement>} />
      <Menu.Portal>
        <Menu.Content
          id={id}
          aria-labelledby={`${id}-trigger`}
          // A long menu scrolls, and what scrolls must take the focus. Tab does not leave an open menu.
          tabIndex={0}
          align={align}
          sideOffset={GAP}
          collisionPadding={MARGIN}
          className={cn(PANEL, "max-w-[min(26rem,calc(100vw-2rem))] overflow-auto p-1", className)}
          {...handlers}
        >
          {children}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

export function PopoverPanel({
  anchor,
  id,
  label,
  open,
  onOpenChange,
  align,
  className,
  children,
}: Openable & { label: string }) {
  const handlers = useReturnFocus(anchor);
  return (
    <Popover.Root open={open} onOpenChange={onOpenChange}>
      <Popover.Anchor virtualRef={anchor as RefObject<HTMLElement>} />
      <Popover.Portal>
        <Popover.Content
          id={id}
          aria-label={label}
          align={align}
          sideOffset={GAP}
          collisionPadding={MARGIN}
          className={cn(PANEL, className)}
          {...handlers}
        >
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

type TooltipProps = Anchored &
  Pick<ComponentProps<"div">, "onPointerEnter" | "onPointerLeave"> & {
    side: "top" | "bottom";
    onClose: () => void;
  };

export function TooltipPanel({ anchor, side, onClose, children, ...rest }: TooltipProps) {
  return (
    <Popper.Root>
      <Popper.Anchor virtualRef={anchor as RefObject<HTMLElement>} />
      <Portal.Root asChild>
        <DismissableLayer.Root
          asChild
          onDismiss={onClose}
          // The trigger decides: it has the focus.
          onFocusOutside={(event) => event.preventDefault()}
          onPointerDownOutside={(event) => {
            if (event.target instanceof Node && anchor.current?.contains(event.target))
              event.preventDefault();
          }}
        >
          <Popper.Content
            role="tooltip"
            side={side}
            sideOffset={GAP}
            collisionPadding={MARGIN}
            className="z-50 max-w-72 rounded-lg border border-edge bg-raised px-3 py-2 text-xs leading-relaxed text-ink shadow-lg"
            {...rest}
          >
            {children}
          </Popper.Content>
        </DismissableLayer.Root>
      </Portal.Root>
    </Popper.Root>
  );
}

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  children: ReactNode;
}

export function DialogPanel({ open, onOpenChange, title, description, children }: DialogProps) {
  return (
    <Modal
      open={open}
      onOpenChange={onOpenChange}
      isDescribed={description !== undefined}
      className="max-h-[76vh] w-[min(34rem,calc(100vw-2rem))] overflow-auto p-5"
    >
      <div className="mb-3 flex items-start justify-between gap-4">
        <div className="min-w-0 wrap-anywhere">
          <Dialog.Title className="text-[15px] font-semibold">{title}</Dialog.Title>
          {description !== undefined && (
            <Dialog.Description className="mt-1 text-[13px] text-muted">{description}</Dialog.Description>
          )}
        </div>
        <Dialog.Close asChild>
          <Button look="ghost" size="icon" aria-label="Close" className="-mt-1.5 -mr-1.5">
            <X aria-hidden />
          </Button>
        </Dialog.Close>
      </div>
      {children}
    </Modal>
  );
}
