import { lazyModule, useLazyModule } from "./lazy-module.ts";

/** Menus, popovers, tooltips and dialogs. The shell loads them with the reader's first action. */
export const overlays = lazyModule(() => import("./overlays.tsx"));

/** The overlays once they are loaded. `onFailure` is called if they are wanted and fail to load. */
export function useOverlays(isWanted: boolean, onFailure: () => void) {
  return useLazyModule(overlays, isWanted, onFailure);
}

/** For the content of an overlay, which is rendered only once the overlays are loaded. */
export function loadedOverlays() {
  const loaded = overlays.current();
  if (loaded === undefined) throw new Error("The content of an overlay is rendered outside of it.");
  return loaded;
}

/** A part that consists of overlays: it can be rendered ahead only with them. Rejects if they fail to load. */
export async function withOverlays<T>(part: Promise<T>): Promise<T> {
  const [loaded, needed] = await Promise.all([part, overlays.load()]);
  if (needed === undefined) throw new Error("The overlays were not loaded.");
  return loaded;
}
