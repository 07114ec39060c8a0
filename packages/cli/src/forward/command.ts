import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { CliError } from "../errors.ts";
import { forwardConnection } from "./forward-connection.ts";

export function addForwardCommand(program: Command, context: CommandContext): void {
  program
    .command("forward")
    .description(
      "Take the telemetry of a connected harness at once and send it on; the hook of the harness starts it",
    )
    .requiredOption("--connection <folder>", "record of the connection")
    .action(async ({ connection }: { connection: string }) => {
      if ((await forwardConnection(connection, context.untilStopped())) === undefined)
        throw new CliError(`${connection} holds no connection that needs a forwarder.`, {
          hint: "List the connections with: npx plimsoll connections",
        });
    });
}
