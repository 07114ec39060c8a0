export interface Label {
  /** Wanted center, px. */
  at: number;
  /** Length along the same axis, px. */
  size: number;
  /** When two labels collide, the higher rank stays; among equals, the earlier. */
  rank: number;
}

/** For each label, true if its text fits without touching a label that stays. */
export function visibleLabels(labels: readonly Label[], gap = 4): boolean[] {
  const shown = labels.map(() => false);
  const byRank = labels.map((label, index) => ({ label, index })).sort((a, b) => b.label.rank - a.label.rank);
  const kept: Label[] = [];
  for (const { label, index } of byRank) {
    const free = kept.every((other) => Math.abs(other.at - label.at) >= (other.size + label.size) / 2 + gap);
    if (!free) continue;
    kept.push(label);
    shown[index] = true;
  }
  return shown;
}

/** Approximate width of an 11 px label, in px. */
export function textWidth(text: string): number {
  return text.length * 6;
}
