import type { KeyboardEventHandler } from "react";

/**
 * Roles of a table whose rows are laid out as grids: they become stacked cards on a phone, or are positioned one by one
 * when virtualised, and a table element allows neither without losing its meaning.
 */
export function tableRole(label: string, onKeyDown?: KeyboardEventHandler<HTMLElement>, rows?: number) {
  return { role: "table", "aria-label": label, "aria-rowcount": rows, onKeyDown } as const;
}
export const ROWS = { role: "rowgroup" } as const;
/** `index` counts from 1, the header included; only needed when rows are left out of the page. */
export function rowRole(index?: number) {
  return { role: "row", "aria-rowindex": index } as const;
}
export function headRole(sort?: "ascending" | "descending") {
  return { role: "columnheader", "aria-sort": sort } as const;
}
export const CELL = { role: "cell" } as const;
