import { createReporter } from "@plimsoll/guard/report";
import type { Command } from "commander";
import { type CommandContext, withServer } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { printable } from "../terminal.ts";
import { runAcp } from "./run-acp.ts";

const HELP = `
Put it before the command of an agent in the settings of an editor. All bytes pass unchanged, and the exit code and
signals too. Without a server the agent works as before.

If the editor does not ask the agent for its compactions, plimsoll acp does, and keeps those messages from the editor. An
agent may then write no text about a compaction. With --no-compactions, all messages pass unchanged.

Examples:
  npx plimsoll acp -- opencode acp
  npx plimsoll acp --harness qwen@laptop -- qwen --acp`;

interface AcpFlags {
  harness?: string;
  compactions: boolean;
}

export function addAcpCommand(program: Command, context: CommandContext): void {
  withServer(program.command("acp"))
    .description(
      "Run an agent of the Agent Client Protocol and report the levels that it sends to its client",
    )
    .argument("<command...>", "command of the agent, after --")
    .option("--harness <instance>", "harness instance of the events (default: <agent>@<this host>)")
    .option("--no-compactions", "do not ask the agent for its compactions")
    .addHelpText("after", HELP)
    .action(async (command: string[], options: ConnectionFlags & AcpFlags) => {
      const { harness, compactions: asksForCompactions, ...flags } = options;
      const { url, token } = await connect(flags, context.env);
      const reporter = createReporter({
        url,
        key: token,
        onTrouble: ({ message }) => context.err.write(`plimsoll: ${printable(message)}\n`),
      });
      const { stdin: input, stdout: output } = process;
      process.exitCode = await runAcp(command, {
        input,
        output,
        reporter,
        harness,
        asksForCompactions,
        now: context.now,
      });
    });
}
