import type { ChartPoint } from "@plimsoll/protocol/api";

type PartName = keyof NonNullable<ChartPoint["composition"]>;

export interface CompositionPart {
  name: PartName | "rest";
  label: string;
  colour: string;
  /** See `Textured`. */
  texture: string;
  /** Tokens at the latest turn with a known composition. */
  tokens: number;
  share: number;
}

export type CompositionRow = { number: number } & Partial<Record<PartName | "rest", number>>;

const PARTS: readonly Pick<CompositionPart, "name" | "label" | "colour" | "texture">[] = [
  { name: "system", label: "system", colour: "var(--faint)", texture: "" },
  { name: "tools", label: "tool definitions", colour: "var(--warn)", texture: "M-1 1L1-1M0 6L6 0M5 7L7 5" },
  { name: "memory", label: "memory", colour: "var(--soft)", texture: "M1.5 3h.01M4.5 0h.01M4.5 6h.01" },
  { name: "history", label: "history", colour: "var(--water-2)", texture: "M0 1.5H6" },
  { name: "tool_output", label: "tool output", colour: "var(--water)", texture: "M-1 5L1 7M0 0L6 6M5-1L7 1" },
  { name: "other", label: "other", colour: "var(--edge)", texture: "M0 3H6M3 0V6" },
  { name: "rest", label: "unattributed", colour: "var(--track)", texture: "M1.5 0V6M4.5 0V6" },
];

/**
 * The parts of the context, by turn. Tokens outside the reported parts count as unattributed; parts the harness
 * never reports are left out rather than shown as zero.
 */
export function compositionRows(points: readonly ChartPoint[]): {
  rows: CompositionRow[];
  parts: CompositionPart[];
} {
  const rows = points.flatMap((point) => {
    if (point.composition === null) return [];
    const row: CompositionRow = { number: point.number };
    let reported = 0;
    for (const [name, tokens] of Object.entries(point.composition) as [PartName, number | null][]) {
      if (tokens === null) continue;
      row[name] = tokens;
      reported += tokens;
    }
    const rest = (point.context_tokens ?? reported) - reported;
    if (rest > 0) row.rest = rest;
    return [row];
  });
  const last = rows.at(-1);
  const total = last === undefined ? 0 : PARTS.reduce((sum, { name }) => sum + (last[name] ?? 0), 0);
  const parts = PARTS.filter(({ name }) => rows.some((row) => (row[name] ?? 0) > 0)).map((part) => {
    const tokens = last?.[part.name] ?? 0;
    return { ...part, tokens, share: total === 0 ? 0 : tokens / total };
  });
  return { rows, parts };
}
