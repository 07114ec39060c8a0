import type { IncomingMessage } from "node:http";

export interface RestLimits {
  bytes: number;
  ms: number;
}

const LIMITS: RestLimits = { bytes: 16 * 1024 * 1024, ms: 2_000 };

/**
 * Reads and drops what is left of a refused body, within limits. Closing a connection on which a body still arrives
 * resets it, and the sender, or a proxy in between, then sees a broken connection instead of the answer.
 * @returns whether all of the body arrived, so that the connection can bring another request
 */
export function dropRestOfBody(incoming: IncomingMessage, limits: RestLimits = LIMITS): Promise<boolean> {
  if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
  return new Promise((resolve) => {
    let dropped = 0;
    const count = (chunk: Buffer) => {
      dropped += chunk.length;
      if (dropped > limits.bytes) done();
    };
    const done = () => {
      clearTimeout(late);
      incoming.off("data", count).off("end", done).off("close", done);
      incoming.resume();
      resolve(incoming.complete);
    };
    const late = setTimeout(done, limits.ms);
    incoming.on("data", count).on("end", done).on("close", done);
    incoming.resume();
  });
}
