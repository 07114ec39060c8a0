import type { toast as sonnerToast } from "sonner";
import { lazyModule } from "./lazy-module.ts";

type Toasts = typeof sonnerToast;
type Show = Toasts["success"];

/** The place of toasts. The shell loads it with the reader's first action. */
export const toaster = lazyModule(() => import("./toaster.tsx"));

let toasts: Toasts | undefined;
let waiting: ((toasts: Toasts) => void)[] = [];

/** Called by the toaster once it is on the page: earlier toasts would be lost. */
export function provideToasts(provided: Toasts): void {
  toasts = provided;
  const shown = waiting;
  waiting = [];
  for (const show of shown) show(provided);
}

function announce(show: (toasts: Toasts) => void): void {
  if (toasts !== undefined) {
    show(toasts);
    return;
  }
  waiting.push(show);
  void toaster.load();
}

/** Shows a short message at the corner of the page. */
export const toast = Object.assign(
  (...message: Parameters<Show>): void => announce((toasts) => toasts(...message)),
  {
    success: (...message: Parameters<Show>): void => announce((toasts) => toasts.success(...message)),
    error: (...message: Parameters<Show>): void => announce((toasts) => toasts.error(...message)),
  },
);
