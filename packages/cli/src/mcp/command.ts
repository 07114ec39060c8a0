import type { Command } from "commander";
import { type CommandContext, withConnection } from "../command-context.ts";
import type { ConnectionFlags } from "../connection.ts";

export function addMcpCommand(program: Command, context: CommandContext): void {
  withConnection(program.command("mcp"))
    .description("Serve MCP on standard input and output, for an agent that asks how full its window is")
    .option("--session <id>", "answer only for this session (default: the session of each call)")
    .addHelpText(
      "after",
      `
A harness starts it. It reads the recording of the session that a call is from, and answers about no other one. Without a server it
answers from the recording alone. Notes of the tool checkpoint stay on this machine.

Examples:
  claude mcp add plimsoll -- npx --yes plimsoll mcp
  codex mcp add plimsoll -- npx --yes plimsoll mcp
  gemini mcp add plimsoll npx -- --yes plimsoll mcp`,
    )
    .action(async (flags: ConnectionFlags & { session?: string }) => {
      // The library of the protocol is loaded only here.
      const { serveMcp } = await import("./serve.ts");
      await serveMcp(flags, context);
    });
}
