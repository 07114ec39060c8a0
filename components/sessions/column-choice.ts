/** The columns of the session list that a person can choose, in order. The session itself is always shown. */
export const COLUMNS = [
  { id: "session", label: "Session", width: "minmax(130px,1.7fr)" },
  { id: "harness", label: "Harness", width: "minmax(96px,1fr)" },
  { id: "machine", label: "Machine", width: "minmax(90px,0.8fr)" },
  { id: "repository", label: "Repository", width: "minmax(110px,1fr)" },
  { id: "person", label: "Person", width: "minmax(90px,0.8fr)" },
  { id: "model", label: "Model", width: "minmax(110px,1fr)" },
  { id: "status", label: "Status", width: "60px" },
  { id: "now", label: "Current", width: "76px" },
  { id: "load", label: "Load", width: "80px", narrow: "66px" },
  { id: "peak", label: "Peak", width: "62px" },
  { id: "turns", label: "Turns", width: "48px" },
  { id: "boundaries", label: "Boundaries", width: "minmax(158px,0.8fr)", narrow: "104px" },
  { id: "warnings", label: "Warnings", width: "68px" },
  { id: "cost", label: "Cost", width: "64px" },
  { id: "uncached", label: "Not cached", width: "84px" },
  { id: "started", label: "Started", width: "80px" },
  { id: "last", label: "Last turn", width: "80px" },
] as const;
export type ColumnId = (typeof COLUMNS)[number]["id"];

const HIDDEN_AT_FIRST: ReadonlySet<string> = new Set([
  "machine",
  "repository",
  "person",
  "model",
  "started",
  "uncached",
]);

export const DEFAULT_COLUMNS: readonly ColumnId[] = COLUMNS.map(({ id }) => id).filter(
  (id) => !HIDDEN_AT_FIRST.has(id),
);

/** Columns that only wide screens have room for. */
export const WIDE_ONLY: ReadonlySet<string> = new Set<ColumnId>([
  "harness",
  "machine",
  "repository",
  "person",
  "model",
  "peak",
  "warnings",
  "cost",
  "uncached",
  "started",
]);

/** The cookie that keeps the choice of this browser, so that the server renders the same columns. */
export const COLUMNS_COOKIE = "plimsoll_columns";

/** The columns that a text names. Unknown names are ignored; the default if none is left. */
export function parseColumns(text: string | null | undefined): readonly ColumnId[] {
  if (text === null || text === undefined) return DEFAULT_COLUMNS;
  const named = new Set(text.split(","));
  const chosen = COLUMNS.map(({ id }) => id).filter((id) => id === "session" || named.has(id));
  return chosen.length === 1 ? DEFAULT_COLUMNS : chosen;
}

export function serializeColumns(columns: readonly ColumnId[]): string {
  return columns.filter((id) => id !== "session").join(",");
}

/** Adds or removes a column. At least one remains beside the session. */
export function toggleColumn(columns: readonly ColumnId[], id: ColumnId): readonly ColumnId[] {
  const next = columns.includes(id) ? columns.filter((one) => one !== id) : [...columns, id];
  return next.length <= 1 ? columns : parseColumns(serializeColumns(next));
}

/** As CSS, with the check box in front. */
export function gridTemplate(columns: readonly ColumnId[]): string {
  return template(columns, ({ width }) => width);
}

/** For a screen that has room for the columns that are needed most. Titles get what the others can spare. */
export function narrowGridTemplate(columns: readonly ColumnId[]): string {
  return template(
    columns.filter((id) => !WIDE_ONLY.has(id)),
    (column) => ("narrow" in column ? column.narrow : column.width),
  );
}

function template(
  columns: readonly ColumnId[],
  widthOf: (column: (typeof COLUMNS)[number]) => string,
): string {
  const shown = new Set(columns);
  return ["20px", ...COLUMNS.filter(({ id }) => shown.has(id)).map(widthOf)].join(" ");
}
