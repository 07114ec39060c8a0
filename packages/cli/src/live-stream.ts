import { followStream, type StreamOptions } from "../../guard/src/http/follow-stream.ts";

/** The server sends a ping every 15 s, so a stream silent for this long is dead. */
export const SILENT_MS = 45_000;

export type LiveHandlers = Pick<StreamOptions, "onOpen" | "onMessages" | "onClose">;

/** Keeps a stream of server-sent events open until the signal aborts, and the process alive meanwhile. */
export async function followLive(
  open: StreamOptions["open"],
  signal: AbortSignal,
  handlers: LiveHandlers,
): Promise<void> {
  const alive = setInterval(() => {}, SILENT_MS);
  try {
    await followStream({
      ...handlers,
      open,
      signal,
      timeoutMs: SILENT_MS,
      silentMs: SILENT_MS,
      backoff: { firstMs: 1_000, mostMs: 30_000 },
      refusedMs: 30_000,
      random: Math.random,
      clock: Date.now,
    });
  } finally {
    clearInterval(alive);
  }
}
