/** @jsxImportSource #jsx */
"use client";

import type { ComponentProps } from "react";
import { useOverlays } from "./lazy-overlays.ts";
import type { DialogPanel } from "./overlays.tsx";

/** A dialog with a title and a button that closes it. */
export function Modal(props: ComponentProps<typeof DialogPanel>) {
  const overlays = useOverlays(props.open, () => props.onOpenChange(false));
  return overlays && <overlays.DialogPanel {...props} />;
}
