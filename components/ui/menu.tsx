/** @jsxImportSource #jsx */
"use client";

import { Check } from "lucide-react";
import { Slot } from "radix-ui";
import type { Menu as RadixMenu } from "radix-ui/internal";
import {
  type ComponentProps,
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
  useId,
  useRef,
  useState,
} from "react";
import { cn } from "./cn.ts";
import { loadedOverlays, useOverlays } from "./lazy-overlays.ts";

/** Look of an entry. Entries with a check mark leave room for it. */
export const MENU_ITEM =
  "relative cursor-pointer rounded-md px-3 py-1.5 outline-none data-[highlighted]:bg-edge/35 pointer-coarse:py-2.5";
export const CHECKED_ITEM = cn(MENU_ITEM, "flex items-center gap-2 pl-7");

const OPENING_KEYS: readonly string[] = ["Enter", " ", "ArrowDown"];

interface Props {
  /** The button that opens the menu. */
  trigger: ReactElement;
  align: "start" | "end";
  /** Classes of the panel. */
  className?: string;
  children: ReactNode;
}

/** A button that opens a menu. */
export function Menu({ trigger, align, className, children }: Props) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLElement>(null);
  const id = useId();
  const overlays = useOverlays(open, () => setOpen(false));
  function press(event: PointerEvent) {
    // With Ctrl, macOS opens the context menu.
    if (event.button !== 0 || event.ctrlKey) return;
    // The pressed button would take the focus from the menu.
    if (!open) event.preventDefault();
    setOpen(!open);
  }
  function pressKey(event: KeyboardEvent) {
    if (!OPENING_KEYS.includes(event.key)) return;
    event.preventDefault();
    setOpen(event.key === "ArrowDown" || !open);
  }
  return (
    <>
      <Slot.Root
        ref={anchor}
        id={`${id}-trigger`}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onPointerDown={press}
        onKeyDown={pressKey}
      >
        {trigger}
      </Slot.Root>
      {overlays && (
        <overlays.MenuPanel
          anchor={anchor}
          id={id}
          open={open}
          onOpenChange={setOpen}
          align={align}
          className={className}
        >
          {children}
        </overlays.MenuPanel>
      )}
    </>
  );
}

/** An entry of a menu. */
export function MenuItem({ className, ...rest }: ComponentProps<typeof RadixMenu.Item>) {
  const { Menu } = loadedOverlays();
  return <Menu.Item className={cn(MENU_ITEM, className)} {...rest} />;
}

/** A choice of one entry among several, of which the chosen one has a check mark. */
export function MenuRadioGroup(props: ComponentProps<typeof RadixMenu.RadioGroup>) {
  const { Menu } = loadedOverlays();
  return <Menu.RadioGroup {...props} />;
}

export function MenuRadioItem({ children, ...rest }: ComponentProps<typeof RadixMenu.RadioItem>) {
  const { Menu } = loadedOverlays();
  return (
    <Menu.RadioItem className={CHECKED_ITEM} {...rest}>
      <Menu.ItemIndicator className="absolute left-2">
        <Check aria-hidden className="size-3.5 text-accent" />
      </Menu.ItemIndicator>
      {children}
    </Menu.RadioItem>
  );
}

export function MenuSeparator() {
  const { Menu } = loadedOverlays();
  return <Menu.Separator className="my-1 h-px bg-rule" />;
}
