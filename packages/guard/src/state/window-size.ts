import { catalogWindow, type ResolvedWindow, type WindowLookup } from "@plimsoll/fold";
import type { GuardState, KnownWindow } from "./state.ts";

/** A window size: in tokens, as the id of a model in the catalog, or as a function of the model's name. */
export type WindowOption = number | string | WindowLookup;

/** A window size in tokens. */
export interface GuardWindow extends ResolvedWindow {
  /** The model whose size is unknown. `tokens` is then the smallest size known in the conversation, if any. */
  unknownModel?: string;
}

/** Windows that one conversation remembers. */
const REMEMBERED_WINDOWS = 32;

/**
 * Returns the smallest window of the models that may answer, in tokens. For a model, a reported size beats a configured one,
 * which beats that of the function, which beats what an earlier call with this model had.
 * @param models each under its names: that of the request, and that of the answer
 */
export function windowOf(
  { windows }: Pick<GuardState, "windows">,
  configured: WindowOption | undefined,
  models: readonly (readonly string[])[],
): GuardWindow {
  const candidates = models.length === 0 ? [[]] : models;
  const sizes = candidates.map((names): GuardWindow => {
    const known = knownWindow(windows, configured, names);
    if (known !== undefined) return known;
    const smallest = least(windows);
    const unknownModel = names[0] === undefined ? {} : { unknownModel: names[0] };
    return { tokens: names.length === 0 ? undefined : smallest?.tokens, source: "unknown", ...unknownModel };
  });
  const unknown = sizes.find(({ unknownModel }) => unknownModel !== undefined);
  const smallest = least(sizes) ?? sizes[0]!;
  return unknown === undefined ? smallest : { ...smallest, unknownModel: unknown.unknownModel! };
}

function knownWindow(
  windows: readonly KnownWindow[],
  configured: WindowOption | undefined,
  names: readonly string[],
): ResolvedWindow | undefined {
  const remembered = windows.filter(({ model }) => model === undefined || names.includes(model));
  const reported = remembered.findLast(({ source }) => source === "reported");
  if (reported !== undefined) return reported;
  if (typeof configured === "function") {
    // A function that ignores the name is asked as well before any model is known.
    for (const name of names.length === 0 ? [""] : names) {
      const tokens = configured(name);
      if (tokens !== undefined) return { tokens, source: "catalog" };
    }
  } else if (configured !== undefined) {
    const tokens = typeof configured === "string" ? catalogWindow(configured) : configured;
    if (tokens !== undefined) return { tokens, source: "configured" };
  }
  return remembered.at(-1);
}

function least<W extends { tokens: number | undefined }>(sizes: readonly W[]): W | undefined {
  let smallest: W | undefined;
  for (const one of sizes)
    if (one.tokens !== undefined && one.tokens < (smallest?.tokens ?? Number.POSITIVE_INFINITY))
      smallest = one;
  return smallest;
}

/** Adds the window of a model, in place of what was known of it from the same source. */
export function withWindow(windows: readonly KnownWindow[], window: KnownWindow): readonly KnownWindow[] {
  const last = windows.at(-1);
  const { model, tokens, source } = window;
  if (last !== undefined && last.model === model && last.tokens === tokens && last.source === source)
    return windows;
  const others = windows.filter((one) => one.model !== model || one.source !== source);
  return [...others, window].slice(-REMEMBERED_WINDOWS);
}
