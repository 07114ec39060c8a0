import { type ResolvedWindow, resolveWindow, type WindowLookup, windowLookup } from "@plimsoll/protocol/pure";
import type { GuardState } from "./state.ts";

const NO_CATALOG = windowLookup(() => undefined);

/** Returns a model's window size in tokens with its source: reported, else configured, else from the lookup. */
export function windowOf(
  state: Pick<GuardState, "model" | "reported">,
  configured: number | WindowLookup | undefined,
  model: string | undefined = state.model,
): ResolvedWindow {
  const { reported } = state;
  const isOfModel = reported !== undefined && (reported.model === undefined || reported.model === model);
  return resolveWindow(
    { model: model ?? "", reported: isOfModel ? reported.tokens : undefined },
    {
      configured: () => (typeof configured === "number" ? configured : undefined),
      catalog: typeof configured === "function" ? configured : NO_CATALOG,
    },
  );
}
