import { numberAt, UNKNOWN_WINDOW } from "../fields.ts";
import type { DecidedLine, Expression, Fields, Known } from "./adapter.ts";
import { shareLine, type WantedLine, wantedShare } from "./line.ts";

/** For harnesses that compact at a fraction of the window. */
export function expressFraction(
  path: readonly string[],
  wanted: WantedLine,
  { windowTokens }: Known,
  { least, most, scale = 1 }: { least: number; most: number; scale?: number },
): Expression {
  const share = wantedShare(wanted, windowTokens);
  if (share === undefined) return UNKNOWN_WINDOW;
  const value = Math.min(most, Math.max(least, share));
  return [{ path, value: scale === 1 ? value : Math.floor(value * scale * 1e4 + 1e-4) / 1e4 }];
}

/** The fraction that counts, and the layer that sets it if the settings file does not. */
export function decidedFraction(
  path: readonly string[],
  settings: Fields,
  { layers }: Known,
): { value?: number; by?: string } {
  for (const layer of layers) {
    const value = numberAt(layer.settings, path);
    if (value !== undefined) return { value, by: `${path.join(".")} in ${layer.name}` };
  }
  const value = numberAt(settings, path);
  return value === undefined ? {} : { value };
}

export const fractionLine = (share: number, known: Known, by: string | undefined): DecidedLine => ({
  line: shareLine(share, known.windowTokens),
  ...(by !== undefined && { by }),
});
