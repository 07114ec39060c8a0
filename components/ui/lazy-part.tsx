/** @jsxImportSource #jsx */
"use client";

import type { ComponentType } from "react";
import { type LazyModule, lazyModule, useLazyModule } from "./lazy-module.ts";
import { toast } from "./toast.ts";

type LazyPart<P> = ComponentType<P> & Pick<LazyModule<ComponentType<P>>, "load">;

/**
 * A component that is not part of a page's first load, such as what opens over it. If it is loaded it renders at once; with
 * `dynamic` React would keep its fallback for 300 ms. A part with the property `open` is loaded when that is true. If it cannot be
 * loaded, a toast says so, and `onClose` takes it off the page.
 * @param open imports the component
 * @param Loading shown until then
 */
export function lazyPart<P extends object>(
  open: () => Promise<ComponentType<P>>,
  Loading: ComponentType = Nothing,
): LazyPart<P> {
  const module = lazyModule(open);
  function Part(props: P) {
    const Loaded = useLazyModule(module, !("open" in props) || props.open === true, () => {
      sayNotLoaded();
      if ("onClose" in props && typeof props.onClose === "function") props.onClose();
    });
    return Loaded === undefined ? <Loading /> : <Loaded {...props} />;
  }
  return Object.assign(Part, { load: module.load });
}

function Nothing() {
  return null;
}

function sayNotLoaded(): void {
  toast.error("This part of the page was not loaded", {
    description: "The server is unreachable or was upgraded. Try again, or reload the page.",
  });
}
