import { readdirSync, readFileSync } from "node:fs";
import { until } from "../testing/until.ts";

/**
 * Ends a database without warning, and waits until the last of its processes is gone: for a moment they still answer,
 * as if nothing had happened.
 */
export async function crash(postmaster: number): Promise<void> {
  const children = processesOf(postmaster);
  process.kill(postmaster, "SIGKILL");
  await until(() => !children.some(isRunning));
}

/** Ids of the processes whose parent is `parent`. */
export function processesOf(parent: number): number[] {
  return readdirSync("/proc").flatMap((name) =>
    /^\d+$/.test(name) && statOf(Number(name))?.parent === parent ? [Number(name)] : [],
  );
}

/** One that has ended, and that nobody has looked at since, is not. */
function isRunning(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && !/^[ZX]/.test(stat.state);
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
