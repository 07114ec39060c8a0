import { createClient } from "../client.ts";
import type { Connection } from "../connection.ts";
import type { Terminal } from "../terminal.ts";
import { type WatchOptions, watchScreen } from "../watch-screen.ts";
import { drawFleet, readFleet } from "./command.ts";

/** Keeps the fleet on the screen; see `watchScreen`. */
export function watchStatus(
  connection: Connection,
  terminal: Terminal,
  { harness, now, ...rest }: Omit<WatchOptions<never>, "read" | "draw"> & { harness?: string | undefined },
): Promise<void> {
  const client = createClient(connection);
  return watchScreen(connection, terminal, {
    ...rest,
    now,
    read: () => readFleet(client, now(), harness),
    draw: (reading) => drawFleet(reading, terminal, now()),
  });
}
