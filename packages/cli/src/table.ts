import { columns, fitColumns, painter, type Terminal } from "./terminal.ts";

/** Columns that a cell takes at most. */
const WIDEST = 40;

export interface TableRow {
  cells: readonly string[];
  /** Shows the row in yellow. */
  warn?: boolean;
}

/** Writes a table with aligned columns. */
export function writeTable(terminal: Terminal, head: readonly string[], rows: readonly TableRow[]): void {
  terminal.write(`${tableLines(terminal, head, rows).join("\n")}\n`);
}

/** The lines of a table with aligned columns. Cells may hold any text: control characters are removed. */
export function tableLines(
  terminal: Pick<Terminal, "color">,
  head: readonly string[],
  rows: readonly TableRow[],
): string[] {
  const widths = head.map((title, at) =>
    Math.min(WIDEST, Math.max(title.length, ...rows.map(({ cells }) => columns(cells[at]!)))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => fitColumns(cell, widths[at]!))
      .join("  ")
      .trimEnd();
  const paint = painter(terminal.color);
  const lines = rows.map(({ cells, warn }) => (warn ? paint("yellow", line(cells)) : line(cells)));
  return [paint("dim", line(head)), ...lines];
}
