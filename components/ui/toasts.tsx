/** @jsxImportSource #jsx */
"use client";

import { useLazyModule } from "./lazy-module.ts";
import { provideToasts, toaster } from "./toast.ts";

/** The place of toasts, empty until the first one or the reader's first action. */
export function Toasts() {
  const loaded = useLazyModule(toaster, false, () => {});
  return loaded && <loaded.Toaster onReady={provideToasts} />;
}
