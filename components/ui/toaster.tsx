"use client";

import { useEffect } from "react";
import { Toaster as SonnerToaster, toast } from "sonner";
import { provideToasts } from "./toast.ts";

/** Shows what `toast` announces. */
export function Toaster() {
  useEffect(() => provideToasts(toast), []);
  return (
    <SonnerToaster
      position="bottom-right"
      style={{ fontFamily: "inherit" }}
      toastOptions={{
        style: {
          background: "var(--raised)",
          color: "var(--ink)",
          border: "1px solid var(--edge)",
          overflowWrap: "anywhere",
        },
      }}
    />
  );
}
