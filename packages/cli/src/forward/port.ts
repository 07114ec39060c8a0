import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { CliError } from "../errors.ts";

/** Below the ports that systems give to programs that ask for any. */
const FIRST = 20_000;
const COUNT = 10_000;
const MOST_TRIES = 100;

export const forwarderUrl = (port: number) => `http://127.0.0.1:${port}`;

/**
 * A port on loopback that nothing uses now. It follows from the folder of the connection, so that users of one machine rarely get
 * the same one while no forwarder runs.
 * @throws CliError if there is none
 */
export async function freePort(folder: string): Promise<number> {
  const start = createHash("sha256").update(folder).digest().readUInt32BE();
  for (let number = 0; number < MOST_TRIES; number += 1) {
    const port = FIRST + ((start + number) % COUNT);
    if (await isFree(port)) return port;
  }
  throw new CliError(`No port for a forwarder is free from ${FIRST + (start % COUNT)} on.`, {
    hint: "Connect with --no-hooks, which needs no forwarder.",
  });
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
