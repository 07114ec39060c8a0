/** @jsxImportSource #jsx */
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/**
 * A name that a person or a harness chose. It has a direction of its own, which turns nothing around it: a clipped Arabic or
 * Hebrew name keeps its beginning. The JSX runtime shows its hidden characters.
 */
export function Name({ className, ...props }: ComponentProps<"bdi">) {
  // Names begin at the left like all that is above and below them.
  return <bdi dir="auto" className={cn("text-left", className)} {...props} />;
}
