"use client";

import { DropdownMenu } from "radix-ui";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** Look of an entry. Entries with a check mark leave room for it. */
export const MENU_ITEM =
  "relative cursor-pointer rounded-md px-3 py-1.5 outline-none data-[highlighted]:bg-edge/35 pointer-coarse:py-2.5";
export const CHECKED_ITEM = cn(MENU_ITEM, "flex items-center gap-2 pl-7");

type Props = ComponentProps<typeof DropdownMenu.Content>;

/** The panel of a menu. */
export function MenuContent({ className, ...rest }: Props) {
  return (
    <DropdownMenu.Portal>
      <DropdownMenu.Content
        sideOffset={6}
        collisionPadding={10}
        className={cn(
          "z-50 max-w-[min(26rem,calc(100vw-2rem))] overflow-auto rounded-lg border border-edge bg-raised p-1 text-[13px] shadow-xl",
          className,
        )}
        {...rest}
      />
    </DropdownMenu.Portal>
  );
}
