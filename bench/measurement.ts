/** One number, and what is needed to judge it. */
export interface Measurement {
  name: string;
  value: number;
  unit: string;
  [detail: string]: number | string;
}

/** Options of a run. */
export interface Context {
  /** Whether the row was asked for; all are when none was named. */
  wanted(name: string): boolean;
  /** Goes on to 10 million turns. */
  large: boolean;
  /** Folder for CPU profiles of the server; undefined takes none. */
  profile: string | undefined;
  /** Says what goes on, beside the results. */
  note(text: string): void;
}

/** Measurements that share a server and its data. */
export interface Group {
  names: readonly string[];
  run(context: Context): AsyncIterable<Measurement>;
}

interface Row {
  /** How the names begin that it belongs to. */
  name: string;
  first: string;
  second: string;
}

/** The rows of the table and the figures to reach on two cores, the load generator on them too. */
const ROWS: readonly Row[] = [
  { name: "baseline.echo", first: "", second: "" },
  { name: "baseline.insert", first: "", second: "" },
  { name: "ingest.batch", first: "60,000 events/s", second: "100,000 events/s" },
  {
    name: "ingest.single",
    first: "10,000 requests/s, p99 < 50 ms",
    second: "18,000 requests/s, p99 < 25 ms",
  },
  { name: "read.overview", first: "p95 < 50 ms", second: "growth to 10M < 1.2x" },
  { name: "read.sessions", first: "p95 < 50 ms", second: "growth to 10M < 1.2x" },
  { name: "live.latency", first: "p95 < 300 ms", second: "" },
  { name: "storage.turn", first: "< 200 bytes", second: "" },
  { name: "memory.idle", first: "< 250 MB", second: "" },
  { name: "memory.load", first: "< 500 MB", second: "" },
  { name: "start.page", first: "< 3 s", second: "" },
  { name: "guard: observe", first: "< 1 ms", second: "" },
  { name: "reporter: record()", first: "< 5 us", second: "" },
];

export function tableOf(measurements: readonly Measurement[]): string {
  const lines = measurements.map((measurement) => {
    const figures = ROWS.find((row) => measurement.name.startsWith(row.name));
    return [measurement.name, measuredText(measurement), figures?.first ?? "", figures?.second ?? ""];
  });
  const cells = [["what", "measured", "first figure", "second figure"], ...lines];
  const widths = [0, 1, 2, 3].map((column) => Math.max(3, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(cells[0]!), line(widths.map((width) => "-".repeat(width))), ...cells.slice(1).map(line)].join(
    "\n",
  );
}

function measuredText({ name: _name, value, unit, ...details }: Measurement): string {
  const rest = Object.entries(details).map(
    ([key, detail]) => `${key.replaceAll("_", " ")} ${figure(detail)}`,
  );
  return `**${figure(value)} ${unit}**${rest.length === 0 ? "" : ` (${rest.join(", ")})`}`;
}

function figure(value: number | string): string {
  if (typeof value === "string") return value;
  return value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) < 1_000 ? 3 : 21 });
}

/** The value below which a share of the samples lie. Sorts in place. */
export function percentileOf(samples: Float64Array | number[], share: number): number {
  if (samples.length === 0) return Number.NaN;
  samples.sort((a, b) => a - b);
  return samples[Math.min(samples.length - 1, Math.ceil(share * samples.length) - 1)]!;
}

/** Rounds to what a measurement of this kind can tell apart. */
export function rounded(value: number, digits = 0): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}
