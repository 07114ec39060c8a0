import { residentMib } from "./memory.ts";
import { startWorker } from "./worker.ts";

/** One answer of `/healthz`. */
export interface Probe {
  /** Time to the answer, without the time that the prober itself did not run. */
  ms: number;
  failed: boolean;
  /** When the answer came, epoch ms. */
  at: number;
}

/** No request may keep others waiting longer, ms. */
export const STALL_MS = 1_000;
const SAMPLE_MS = 500;

export interface Watch {
  /** Everything since the start or the last `take`. */
  take(): Observed;
  /** The longest answer of `/healthz` since the last call, ms. */
  longest(): number;
  stop(): Promise<void>;
}

export interface Observed {
  probes: number;
  failedProbes: number;
  p99Ms: number;
  maxMs: number;
  stalls: Probe[];
  /** Resident memory of the server every half second, MiB. */
  memory: number[];
}

/** Asks `/healthz` every 50 ms from a thread of its own, and reads the server's memory. */
export function watchServer(port: number, pid: number): Watch {
  let probes: Probe[] = [];
  let memory: number[] = [];
  let longest = 0;
  const prober = startWorker("prober.ts", { port });
  prober.on("message", (probe: Probe) => {
    probes.push(probe);
    longest = Math.max(longest, probe.ms);
  });
  prober.on("error", (error) => {
    throw error;
  });
  const timer = setInterval(() => {
    const mib = residentMib(pid);
    if (mib !== undefined) memory.push(mib);
  }, SAMPLE_MS);
  return {
    take() {
      const sorted = probes.map(({ ms }) => ms).sort((a, b) => a - b);
      const observed: Observed = {
        probes: probes.length,
        failedProbes: probes.filter(({ failed }) => failed).length,
        p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
        maxMs: sorted.at(-1) ?? 0,
        stalls: probes.filter(({ ms }) => ms > STALL_MS),
        memory,
      };
      probes = [];
      memory = [];
      return observed;
    },
    longest() {
      const value = longest;
      longest = 0;
      return value;
    },
    async stop() {
      clearInterval(timer);
      await prober.terminate();
    },
  };
}
