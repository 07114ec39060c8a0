import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

/** A module that is not part of a page's first load. */
export interface LazyModule<T> {
  /** Undefined until the module is loaded. */
  current(): T | undefined;
  /** Loads the module. Resolves with `undefined` if that fails; the next call tries again. */
  load(): Promise<T | undefined>;
  /** Calls the listener when the module is loaded. Returns a function that removes the listener. */
  subscribe(listener: () => void): () => void;
}

/** @param open imports the module, as in `() => import("./overlays.tsx")` */
export function lazyModule<T>(open: () => Promise<T>): LazyModule<T> {
  const listeners = new Set<() => void>();
  let loaded: T | undefined;
  let loading: Promise<T | undefined> | undefined;
  async function load(): Promise<T | undefined> {
    try {
      loaded = await open();
      for (const listener of listeners) listener();
    } catch {
      // The server may be down. Whatever wanted the module stays closed, and may be opened again.
      loading = undefined;
    }
    return loaded;
  }
  return {
    current: () => loaded,
    load: () => {
      loading ??= load();
      return loading;
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * The module once it is loaded; undefined until then and while rendering on the server.
 * @param isWanted loads the module if nothing has loaded it yet
 * @param onFailure called if that fails
 */
export function useLazyModule<T>(
  module: LazyModule<T>,
  isWanted: boolean,
  onFailure: () => void,
): T | undefined {
  const loaded = useSyncExternalStore(module.subscribe, module.current, () => undefined);
  const failed = useEffectEvent(onFailure);
  useEffect(() => {
    if (!isWanted) return;
    let isCurrent = true;
    void module.load().then((result) => {
      if (isCurrent && result === undefined) failed();
    });
    return () => {
      isCurrent = false;
    };
  }, [module, isWanted]);
  return loaded;
}

const FIRST_ACTIONS = ["pointermove", "pointerdown", "keydown", "focusin"] as const;
/** How long after its load event a page waits before it uses idle time, in ms: its charts and live data come first. */
const SETTLED_MS = 1000;

/**
 * Calls `start` once: with the reader's first action on the page, or before it, when the loaded page is idle. Code that is
 * first evaluated by an action delays its paint. Returns a function that cancels the call.
 */
export function onFirstActionOrIdle(start: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let idle: number | undefined;
  function stop() {
    for (const action of FIRST_ACTIONS) window.removeEventListener(action, act, { capture: true });
    window.removeEventListener("load", settle);
    clearTimeout(timer);
    if (idle !== undefined) window.cancelIdleCallback(idle);
  }
  function act() {
    stop();
    start();
  }
  function settle() {
    timer = setTimeout(() => {
      // Safari has no idle callbacks by default.
      if (window.requestIdleCallback === undefined) act();
      else idle = window.requestIdleCallback(act);
    }, SETTLED_MS);
  }
  for (const action of FIRST_ACTIONS) {
    window.addEventListener(action, act, { capture: true, passive: true });
  }
  if (document.readyState === "complete") settle();
  else window.addEventListener("load", settle, { once: true });
  return stop;
}

/**
 * Loads what opens over the page once the page is idle: it then opens at once, and even while the server is down.
 * @param load the same function in each render
 */
export function usePreload(load: () => Promise<unknown>): void {
  useEffect(
    () =>
      onFirstActionOrIdle(() => {
        // Opening it tries again.
        load().catch(() => {});
      }),
    [load],
  );
}
