import type { HarnessAdapter } from "./bridge/adapter.ts";
import { partsOf } from "./registry.ts";

export * from "./bridge/adapter.ts";
export * from "./bridge/line.ts";

/** Every harness that the bridge knows, the most capable first. */
export const ADAPTERS: readonly HarnessAdapter[] = partsOf("bridge").map(([family, bridge]) => ({
  family,
  ...bridge,
}));
