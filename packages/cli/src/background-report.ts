import { sendRequest } from "./network/send-request.ts";
import { isSendable } from "./sendable.ts";
import { sleep } from "./sleep.ts";

/** Where to report, and with which key. */
export interface ReportTarget {
  /** Base URL of the server. */
  url: string;
  key: string;
}

/** Longest time to wait for the server, ms. Nobody waits for the report. */
const PATIENCE_MS = 5_000;

/**
 * Sends events from a process that nobody waits for, except those that the server would refuse.
 * @param waits times between attempts, ms; without any, a report that fails is lost
 * @returns whether the server has them
 */
export async function sendReport(
  target: ReportTarget,
  events: readonly object[],
  waits: readonly number[] = [],
): Promise<boolean> {
  const sendable = events.filter(isSendable);
  if (sendable.length === 0) return false;
  const outcome = await attempt(target, sendable);
  const [wait, ...later] = waits;
  if (outcome !== "again" || wait === undefined) return outcome === "stored";
  await sleep(wait);
  return sendReport(target, events, later);
}

async function attempt(
  { url, key }: ReportTarget,
  events: readonly object[],
): Promise<"stored" | "again" | "refused"> {
  try {
    const response = await sendRequest(`${url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ events }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.body?.cancel();
    if (response.ok) return "stored";
    return response.status === 429 || response.status >= 500 ? "again" : "refused";
  } catch {
    return "again";
  }
}

/**
 * Starts this program again without waiting for it.
 * @param words after the name of the program
 * @param text for its standard input
 */
export function startReport(words: readonly string[], text: string): void {
  // Loaded only for a report, and without Node's loader of modules, which `import()` would start.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(process.execPath, [process.argv[1]!, ...words], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.stdin.end(text);
  child.unref();
}
