/** A figure and the details needed to judge it. */
export interface Measurement {
  name: string;
  value: number;
  unit: string;
  [detail: string]: number | string;
}

/** Options of a run. */
export interface BenchContext {
  /** Whether to measure the row: it was named, or compared with one that was named, or none was named. */
  wanted(name: string): boolean;
  /** Continues to 10 million turns. */
  large: boolean;
  /** Folder for CPU profiles of the server; undefined for no profiles. */
  profile: string | undefined;
  /** Prints progress to stderr. */
  note(text: string): void;
}

/** Measurements that share a server and its data. */
export interface BenchGroup {
  names: readonly string[];
  run(context: BenchContext): AsyncIterable<Measurement>;
}

interface Row {
  /** The row's name, or how the names of its rows begin. */
  name: string;
  goal: string;
  /** Another row of the same run whose value this one is divided by. Asking for a row measures that one too. */
  of?: string;
}

/** The rows of the table, and their goals on two cores that the load generator shares. */
const ROWS: readonly Row[] = [
  { name: "baseline.echo", goal: "" },
  { name: "baseline.insert", goal: "" },
  { name: "ingest.batch", goal: ">= 0.8 of baseline.insert", of: "baseline.insert" },
  { name: "ingest.single", goal: ">= 0.3 of baseline.echo, p99 < 50 ms", of: "baseline.echo" },
  { name: "ingest.shared", goal: ">= 0.8 of ingest.batch, p99 < 500 ms", of: "ingest.batch" },
  { name: "ingest.two_servers", goal: ">= 0.7 of ingest.batch, p99 < 500 ms", of: "ingest.batch" },
  { name: "ingest.late_event", goal: "< 10 ms" },
  { name: "ingest.late", goal: "", of: "ingest.batch" },
  { name: "ingest.repeated", goal: "", of: "ingest.batch" },
  { name: "ingest.projects", goal: "", of: "ingest.batch" },
  { name: "ingest.agents1000", goal: "", of: "ingest.batch" },
  { name: "ingest.agents5000", goal: "", of: "ingest.batch" },
  { name: "ingest.sessions5000", goal: "", of: "ingest.batch" },
  { name: "work.single1000", goal: "WAL < 500 bytes an event" },
  { name: "work.agents200", goal: "" },
  { name: "work.agents5000", goal: "<= work.agents200", of: "work.agents200" },
  { name: "work.sessions5000", goal: "<= work.agents200", of: "work.agents200" },
  { name: "work.fast200", goal: "", of: "work.agents200" },
  { name: "ingest.recovery", goal: ">= 1 of ingest.batch", of: "ingest.batch" },
  { name: "ingest.uncontended", goal: "", of: "ingest.batch" },
  {
    name: "ingest.retries",
    goal: ">= 0.7 of ingest.uncontended, p99 < 2 s, memory flat",
    of: "ingest.uncontended",
  },
  { name: "otlp.spans", goal: ">= 0.5 of the JSON events" },
  { name: "read.overview", goal: "p95 < 50 ms, growth to 10M < 1.2x" },
  { name: "read.sessions", goal: "p95 < 50 ms, growth to 10M < 1.2x" },
  { name: "read.insights", goal: "p95 < 300 ms" },
  { name: "turns.page", goal: "p95 < 50 ms" },
  { name: "turns.csv", goal: ">= 50,000" },
  { name: "turns.chart", goal: "< 150 ms" },
  { name: "live.latency", goal: "p95 < 300 ms" },
  { name: "live.large", goal: "p95 < 200 ms" },
  { name: "live.shared", goal: "p95 < 200 ms" },
  { name: "live.cpu", goal: "< 15 % of a core" },
  { name: "live.tasks", goal: "< 100 ms at 4x CPU throttle" },
  { name: "open.long", goal: "< 1,500 ms" },
  { name: "script.login", goal: "< 60 kB" },
  { name: "script.", goal: "< 200 kB" },
  { name: "lcp.", goal: "< 2,500 ms at 4x CPU throttle" },
  { name: "interaction.", goal: "< 200 ms at 4x CPU throttle" },
  { name: "alerts.day", goal: "<= 0.05" },
  { name: "alerts.night", goal: "6, none twice" },
  { name: "alerts.cost", goal: ">= 0.95" },
  { name: "alerts.webhook", goal: "p95 < 1 s" },
  { name: "alerts.webhook_full", goal: "" },
  { name: "alerts.webhook_shared", goal: "p95 < 1 s" },
  { name: "policy.push", goal: "< 1 s to 1,000 harnesses" },
  { name: "policy.connections", goal: "10,000 streams" },
  { name: "replay.turns", goal: "< 5 s" },
  { name: "replay.honest", goal: "within 10 %" },
  { name: "policies.replay_error", goal: "within 10 %" },
  { name: "storage.turn", goal: "< 150 bytes" },
  { name: "storage.year", goal: "< 150 bytes a turn" },
  { name: "memory.idle", goal: "< 250 MB" },
  { name: "memory.load", goal: "< 500 MB" },
  { name: "start.page", goal: "< 3 s" },
  { name: "statusline.node", goal: "" },
  { name: "statusline.same", goal: "< 50 ms, < 1.1 of statusline.node", of: "statusline.node" },
  { name: "statusline.new", goal: "< 50 ms, < 1.1 of statusline.node", of: "statusline.node" },
  { name: "guard: observe", goal: "< 1 ms" },
  { name: "reporter: record()", goal: "< 5 us" },
];

function rowOf(name: string): Row | undefined {
  return ROWS.find((row) => name === row.name) ?? ROWS.find((row) => name.startsWith(row.name));
}

/** The row that a row is compared with; undefined if there is none. */
export function referenceOf(name: string): string | undefined {
  return rowOf(name)?.of;
}

/** Adds the ratios to the reference row, if it was measured in this run: of the values, and of the CPU time an event. */
export function withRatios(measurement: Measurement, measured: readonly Measurement[]): Measurement {
  const reference = measured.find(({ name }) => name === referenceOf(measurement.name));
  if (reference === undefined) return measurement;
  const { name, value, unit, ...details } = measurement;
  const cpu = cpuOf(measurement) / cpuOf(reference);
  return {
    name,
    value,
    unit,
    ratio: rounded(value / reference.value, 2),
    ...(Number.isFinite(cpu) ? { cpu_ratio: rounded(cpu, 2) } : {}),
    ...details,
  };
}

function cpuOf({ server_cpu_us, database_cpu_us }: Measurement): number {
  return Number(server_cpu_us) + Number(database_cpu_us);
}

export function tableOf(measurements: readonly Measurement[]): string {
  const lines = measurements.map((measurement) => {
    return [measurement.name, measuredText(measurement), rowOf(measurement.name)?.goal ?? ""];
  });
  const cells = [["row", "measured", "goal"], ...lines];
  const widths = [0, 1, 2].map((column) => Math.max(3, ...cells.map((row) => row[column]!.length)));
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

/** The value at or below which this share of the samples lies. Sorts them in place. */
export function percentileOf(samples: Float64Array | number[], share: number): number {
  if (samples.length === 0) return Number.NaN;
  samples.sort((a, b) => a - b);
  return samples[Math.min(samples.length - 1, Math.ceil(share * samples.length) - 1)]!;
}

/** Rounds to a number of decimal digits. */
export function rounded(value: number, digits = 0): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}
