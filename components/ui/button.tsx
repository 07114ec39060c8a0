/** @jsxImportSource #jsx */
import { cva, type VariantProps } from "class-variance-authority";
import { Slot } from "radix-ui";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

const button = cva(
  "inline-flex items-center justify-center gap-1.5 rounded-[7px] transition-colors disabled:pointer-events-none disabled:opacity-55 [&_svg]:size-3.5 [&_svg]:shrink-0",
  {
    variants: {
      look: {
        plain: "border border-rule bg-panel text-ink hover:border-edge hover:bg-raised",
        primary: "bg-accent font-medium text-accent-ink hover:opacity-90",
        danger: "border border-hard text-hard hover:bg-hard/10",
        ghost: "text-muted hover:bg-track hover:text-ink",
      },
      // Touch targets are larger on coarse pointers.
      size: {
        normal: "h-8 px-2.5 text-[13px] whitespace-nowrap pointer-coarse:h-10",
        /** As high as a field beside it. */
        field: "h-9 px-2.5 text-[13px] whitespace-nowrap pointer-coarse:h-10",
        icon: "size-8 shrink-0 text-[13px] pointer-coarse:size-10",
        small: "h-7 px-2 text-xs whitespace-nowrap pointer-coarse:h-9",
        /** One of several in a row with a common border. */
        segment: "h-6 px-2 text-xs whitespace-nowrap pointer-coarse:h-9",
        /** For text of any length. */
        wrapped: "min-h-7 max-w-full px-2 py-1 text-left text-xs wrap-anywhere pointer-coarse:min-h-9",
      },
    },
    defaultVariants: { look: "plain", size: "normal" },
  },
);

type Props = ComponentProps<"button"> & VariantProps<typeof button> & { asChild?: boolean };

export function Button({ look, size, asChild = false, className, type = "button", ...rest }: Props) {
  const Tag = asChild ? Slot.Root : "button";
  return (
    <Tag type={asChild ? undefined : type} className={cn(button({ look, size }), className)} {...rest} />
  );
}
