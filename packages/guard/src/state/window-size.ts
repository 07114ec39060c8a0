import {
  catalogWindow,
  type ResolvedWindow,
  resolveWindow,
  type WindowLookup,
  windowLookup,
} from "@plimsoll/fold";
import type { GuardState } from "./state.ts";

/** A window size: in tokens, as the id of a model in the catalog, or as a function of the model's name. */
export type WindowOption = number | string | WindowLookup;

const NO_CATALOG = windowLookup(() => undefined);

/** Returns a model's window size in tokens with its source: reported, else configured, else from the function. */
export function windowOf(
  state: Pick<GuardState, "model" | "reported">,
  configured: WindowOption | undefined,
  model: string | undefined = state.model,
): ResolvedWindow {
  const { reported } = state;
  const isOfModel = reported !== undefined && (reported.model === undefined || reported.model === model);
  return resolveWindow(
    { model: model ?? "", reported: isOfModel ? reported.tokens : undefined },
    {
      configured: () => (typeof configured === "string" ? catalogWindow(configured) : sizeOf(configured)),
      catalog: typeof configured === "function" ? configured : NO_CATALOG,
    },
  );
}

function sizeOf(configured: number | WindowLookup | undefined): number | undefined {
  return typeof configured === "number" ? configured : undefined;
}
