import { sendRequest } from "./send-request.ts";

/** A smaller difference is no fault, in ms: the header Date has whole seconds. */
const LEAST_MS = 60_000;
const ANSWER_MS = 5_000;

/** When a request was sent and answered, by the clock of this machine, in epoch ms. */
interface Exchange {
  sentAt: number;
  answeredAt: number;
}

/**
 * What is wrong with the clock of this machine, compared with the server's, in words. A slow request is no fault.
 * @param serverAt what the server said when it answered, epoch ms
 */
export function clockFault(serverAt: number, { sentAt, answeredAt }: Exchange): string | undefined {
  const ahead = sentAt - (serverAt + 1_000);
  const behind = serverAt - answeredAt;
  const ms = Math.max(ahead, behind);
  if (ms < LEAST_MS) return undefined;
  const minutes = Math.round(ms / 60_000);
  const unit = minutes === 1 ? "minute" : "minutes";
  return `The clock of this machine is ${minutes} ${unit} ${ahead > behind ? "ahead of" : "behind"} the server's. Its turns may be in the wrong order, or rejected. Synchronize the clock, such as with NTP.`;
}

/**
 * Asks a server for its time. Never rejects.
 * @param now epoch ms
 * @returns undefined if the server does not say
 */
export async function compareClocks(
  url: string,
  now: () => number,
): Promise<{ fault: string | undefined } | undefined> {
  const sentAt = now();
  try {
    const answer = await sendRequest(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const answeredAt = now();
    await answer.body?.cancel();
    const serverAt = Date.parse(answer.headers.get("date") ?? "");
    if (!answer.ok || Number.isNaN(serverAt)) return undefined;
    return { fault: clockFault(serverAt, { sentAt, answeredAt }) };
  } catch {
    return undefined;
  }
}
