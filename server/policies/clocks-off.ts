import type { PrismaClient } from "../db/client.ts";
import type { Said } from "../lines/acknowledgements.ts";
import type { PolicyBook } from "../lines/policy-book.ts";
import { LIVE_FOR } from "../read/liveness.ts";

/** Milliseconds by which a harness may seem to acknowledge a version before it was saved: as far as its events may be ahead. */
const MOST_BEHIND_MS = 5 * 60_000;
/** An event that is accepted so much later than the last refused one shows that the clock is right again, ms. */
const RIGHT_AFTER_MS = 60_000;

/** What is wrong with the clocks of harnesses whose latest events were refused because of it. */
export interface ClockAhead {
  message: string;
  /** When the last event was refused, epoch ms. */
  at: number;
}

/** Harnesses whose events were refused lately because their clock is ahead, by instance. `now` in epoch ms. */
export async function readClocksAhead(
  prisma: Pick<PrismaClient, "ingestRefusal">,
  projectId: number,
  now: number,
): Promise<Map<string, ClockAhead>> {
  const rows = await prisma.ingestRefusal.findMany({
    where: {
      projectId,
      code: "in_the_future",
      harness: { not: "" },
      lastAt: { gt: new Date(now - LIVE_FOR) },
    },
    orderBy: { lastAt: "asc" },
  });
  return new Map(
    rows.map(({ harness, message, lastAt }) => [
      harness,
      { message: `Its clock ${message}`, at: lastAt.getTime() },
    ]),
  );
}

/** Whether a harness' events are still refused; `receivedAt` is when the last one was accepted, epoch ms. */
export const isStillAhead = (ahead: ClockAhead | undefined, receivedAt: number): ahead is ClockAhead =>
  ahead !== undefined && receivedAt < ahead.at + RIGHT_AFTER_MS;

/** What is wrong with the clock of a harness that acknowledged a version before it was saved; undefined if nothing is. */
export function clockBehind(book: PolicyBook, said: Said | undefined): string | undefined {
  const saved = book.versions.find(({ generation }) => generation === said?.generation)?.steps[0]?.at;
  if (said === undefined || saved === undefined || said.at >= saved - MOST_BEHIND_MS) return undefined;
  const minutes = Math.round((saved - said.at) / 60_000);
  return `Its clock is at least ${minutes} minutes behind the server's clock: it acknowledged generation ${said.generation} before that was saved. Set the clock.`;
}
