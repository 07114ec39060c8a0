import { fileSpool } from "@plimsoll/guard/node";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { readRecord, spoolFolder } from "../connect/record.ts";
import { CliError } from "../errors.ts";
import { runForwarder } from "./forwarder.ts";

/** Harnesses that run export every 10 s. */
const IDLE_MS = 15 * 60_000;

export function addForwardCommand(program: Command, context: CommandContext): void {
  program
    .command("forward")
    .description(
      "Take the telemetry of a connected harness at once and send it on; the hook of the harness starts it",
    )
    .requiredOption("--connection <folder>", "record of the connection")
    .action(async ({ connection }: { connection: string }) => {
      const port = (await readRecord(connection))?.forwardPort;
      if (port === undefined)
        throw new CliError(`${connection} holds no connection that needs a forwarder.`, {
          hint: "List the connections with: npx plimsoll connections",
        });
      await runForwarder({
        port,
        target: async () => (await readRecord(connection))?.url,
        spool: fileSpool(spoolFolder(connection)),
        signal: context.untilStopped(),
        idleMs: IDLE_MS,
      });
    });
}
