import type { KeyboardEventHandler } from "react";

/**
 * ARIA roles of a table built from grid elements. Its rows become cards on a phone or are virtualized, which a
 * `<table>` element does not allow.
 */
export function tableRole(label: string, onKeyDown?: KeyboardEventHandler<HTMLElement>, rows?: number) {
  return { role: "table", "aria-label": label, "aria-rowcount": rows, onKeyDown } as const;
}
export const ROWS = { role: "rowgroup" } as const;
/** `index` is 1-based and includes the header; required only for virtualized rows. */
export function rowRole(index?: number) {
  return { role: "row", "aria-rowindex": index } as const;
}
export function headRole(sort?: "ascending" | "descending") {
  return { role: "columnheader", "aria-sort": sort } as const;
}
export const CELL = { role: "cell" } as const;
