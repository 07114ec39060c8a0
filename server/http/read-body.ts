import type { IncomingMessage } from "node:http";
import { type BodyBudget, tooManyBytes } from "../bodies/body-budget.ts";
import { PlimsollError } from "../errors.ts";

/**
 * Reads the body from the socket and stops as soon as it is too large or finds no room, whatever Content-Length says.
 * @param limit in bytes
 */
export function readBody(incoming: IncomingMessage, budget: BodyBudget, limit: number): Promise<Buffer> {
  const declared = Number(incoming.headers["content-length"]);
  if (declared > limit) {
    incoming.resume();
    return Promise.reject(tooManyBytes(declared, limit));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: unknown) => {
      chunks.length = 0;
      incoming.removeAllListeners("data");
      incoming.resume();
      reject(error);
    };
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return refuse(tooManyBytes(undefined, limit));
      try {
        budget.memory.take(chunk.length);
      } catch (error) {
        return refuse(error);
      }
      budget.addBytes(chunk.length);
      chunks.push(chunk);
    });
    incoming.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    // Nobody is left to read an answer; what matters is that the log does not call it a fault of ours.
    const gone = () =>
      reject(new PlimsollError("bad_request", "The sender went away in the middle of its body."));
    incoming.on("error", gone);
    incoming.on("close", () => {
      if (!incoming.complete) gone();
    });
  });
}
