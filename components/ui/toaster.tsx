/** @jsxImportSource #jsx */
"use client";

import { useEffect } from "react";
import { Toaster as SonnerToaster, toast } from "sonner";

/** Shows toasts. `onReady` receives the function that makes them: a toast made earlier would be lost. */
export function Toaster({ onReady }: { onReady: (toasts: typeof toast) => void }) {
  useEffect(() => onReady(toast), [onReady]);
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
