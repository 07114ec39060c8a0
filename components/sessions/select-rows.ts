/** The rows a person has selected, and the last one that was clicked. */
export interface Selection {
  ids: ReadonlySet<string>;
  anchor: string | null;
}

export const NOTHING_SELECTED: Selection = { ids: new Set(), anchor: null };

/** Most sessions that the server changes at once. */
export const MOST_SELECTED = 500;

/** Selects a row, or no longer selects it. */
export function toggleRow({ ids }: Selection, id: string): Selection {
  const next = new Set(ids);
  if (!next.delete(id) && next.size < MOST_SELECTED) next.add(id);
  return { ids: next, anchor: id };
}

/** Makes all rows from the anchor to a row like the anchor, as a click with Shift does. */
export function extendTo(selection: Selection, id: string, order: readonly string[]): Selection {
  const from = selection.anchor === null ? -1 : order.indexOf(selection.anchor);
  const to = order.indexOf(id);
  if (from === -1 || to === -1) return toggleRow(selection, id);
  const on = selection.anchor !== null && selection.ids.has(selection.anchor);
  const next = new Set(selection.ids);
  for (const row of order.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (!on) next.delete(row);
    else if (next.size < MOST_SELECTED) next.add(row);
  }
  return { ids: next, anchor: id };
}

/** Selects all rows, as many as can be changed at once; or none if all are selected. */
export function toggleAll({ ids }: Selection, order: readonly string[]): Selection {
  const all = order.slice(0, MOST_SELECTED);
  if (all.every((id) => ids.has(id))) return NOTHING_SELECTED;
  return { ids: new Set(all), anchor: null };
}
