import { fileSpool } from "@plimsoll/guard/node";
import { readRecord, spoolFolder } from "../connect/record.ts";
import { type ForwarderEnd, runForwarder } from "./forwarder.ts";

/** Harnesses that run export every 10 s. */
const IDLE_MS = 15 * 60_000;

/**
 * Runs the forwarder of a connection.
 * @param connection folder with its record
 * @returns undefined if the connection needs none
 */
export async function forwardConnection(
  connection: string,
  signal: AbortSignal,
): Promise<ForwarderEnd | undefined> {
  const port = (await readRecord(connection))?.forwardPort;
  if (port === undefined) return undefined;
  return runForwarder({
    port,
    target: async () => (await readRecord(connection))?.url,
    spool: fileSpool(spoolFolder(connection)),
    signal,
    idleMs: IDLE_MS,
  });
}
