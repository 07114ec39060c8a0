import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second in /proc; 100 on every Linux that Node runs on. */
const TICKS = 100;

/** Seconds of CPU time. */
export interface CpuTimes {
  server: number;
  database: number;
}

/**
 * CPU time that servers and their database have used so far. Other work on the machine changes it far less than a rate.
 * Undefined without /proc.
 */
export function readCpu(servers: readonly number[], postmaster: number): CpuTimes | undefined {
  if (process.platform !== "linux") return undefined;
  let database = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat === undefined) continue;
    if (Number(name) === postmaster) database += stat.own + stat.ended;
    else if (stat.parent === postmaster) database += stat.own;
  }
  const server = servers.reduce((sum, pid) => sum + (readStat(pid)?.own ?? 0), 0);
  return { server, database };
}

/** Microseconds of CPU time an event. */
export type CpuCost = Record<"server_cpu_us" | "database_cpu_us", number>;

/** Undefined if the CPU time is unknown. */
export function cpuPerEvent(
  before: CpuTimes | undefined,
  after: CpuTimes | undefined,
  events: number,
): CpuCost | undefined {
  if (before === undefined || after === undefined || events === 0) return undefined;
  const micros = (seconds: number) => Math.round((seconds / events) * 1e7) / 10;
  return {
    server_cpu_us: micros(after.server - before.server),
    database_cpu_us: micros(after.database - before.database),
  };
}

function readStat(pid: number): { parent: number; own: number; ended: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name is in brackets and may hold anything; the fields after it are numbers.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const field = (index: number) => Number(fields[index]);
    return { parent: field(1), own: (field(11) + field(12)) / TICKS, ended: (field(13) + field(14)) / TICKS };
  } catch {
    // The process ended after the folder was listed.
    return undefined;
  }
}
