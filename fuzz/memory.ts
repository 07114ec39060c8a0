import { readFileSync } from "node:fs";

/** Growth from the first to the last part of a run that is no leak: caches fill and the heap keeps room. */
const GROWTH_MIB = 160;

/** Resident memory of a process in MiB; undefined where /proc does not tell. */
export function residentMib(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? undefined : Number(kib) / 1_024;
  } catch {
    return undefined;
  }
}

/** Processor time that a process has used, ms; undefined where /proc does not tell. */
export function processorMs(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    // Linux counts in hundredths of a second, for every program.
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return undefined;
  }
}

export interface Growth {
  /** Medians of the four parts of the run after warm-up, MiB. */
  medians: number[];
  grows: boolean;
}

/**
 * Whether memory keeps growing: each quarter of the samples above the one before, and by more than the bound in sum.
 * @param samples MiB at regular intervals. The first fifth is warm-up.
 */
export function growthOf(samples: readonly number[]): Growth {
  const settled = samples.slice(Math.floor(samples.length / 5));
  if (settled.length < 8) return { medians: settled.slice(-1), grows: false };
  const medians = [0, 1, 2, 3].map((part) =>
    medianOf(settled.slice((part * settled.length) / 4, ((part + 1) * settled.length) / 4)),
  );
  const [first, , , last] = medians as [number, number, number, number];
  const rises = medians.every((median, index) => index === 0 || median > medians[index - 1]!);
  return { medians, grows: rises && last - first > GROWTH_MIB };
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
