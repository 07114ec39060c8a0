/**
 * Roles of a table whose rows are laid out as grids: they become stacked cards on a phone, or are positioned one by one
 * when virtualised, and a table element allows neither without losing its meaning.
 */
export const TABLE = { role: "table" } as const;
export const ROWS = { role: "rowgroup" } as const;
export const ROW = { role: "row" } as const;
export const HEAD = { role: "columnheader" } as const;
export const CELL = { role: "cell" } as const;
