export interface Label {
  /** Where the label wants its centre, px. */
  at: number;
  /** Extent along the same axis, px. */
  size: number;
  /** Who keeps its text when two collide; higher wins, the earlier among equals. */
  rank: number;
}

/** Which labels may show their text without touching one another. Markers stay; only text gives way. */
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

/** Width of a label at 11 px in the interface's font: close enough to tell whether two collide. */
export function textWidth(text: string): number {
  return text.length * 6;
}
