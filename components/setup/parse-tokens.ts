const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1_000, m: 1_000_000 };
const MAX_TOKENS = 2_147_483_647;

/** Parses a token count such as `131072`, `131,072`, `128k` or `1.5M`. Null unless it is a positive integer. */
export function parseTokens(text: string): number | null {
  const match = /^(\d[\d,_ ]*(?:\.\d+)?)\s*([km]?)$/i.exec(text.trim());
  if (match === null) return null;
  const value = Number(match[1]!.replaceAll(/[,_ ]/g, "")) * UNITS[match[2]!.toLowerCase()]!;
  const rounded = Math.round(value);
  if (Math.abs(rounded - value) > 1e-6 || rounded < 1 || rounded > MAX_TOKENS) return null;
  return rounded;
}
