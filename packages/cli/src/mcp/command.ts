import { type Command, Option } from "commander";
import { type CommandContext, withConnection } from "../command-context.ts";
import type { ConnectionFlags } from "../connection.ts";

export function addMcpCommand(program: Command, context: CommandContext): void {
  withConnection(program.command("mcp"))
    .description("Serve MCP on standard input and output, for an agent that asks how full its window is")
    .option("--session <id>", "answer only for this session (default: the session of each call)")
    .addOption(
      new Option(
        "--plugin <harness>",
        "write a plugin that starts this server to standard output, for a harness that names no session in its calls",
      ).choices(["opencode"]),
    )
    .addHelpText(
      "after",
      `
A harness starts it. It reads the recording of the session that a call is from, and answers about no other one. Without a server it
answers from the recording alone. Notes of the tool checkpoint stay on this machine.

Examples:
  claude mcp add plimsoll -- npx --yes plimsoll mcp
  codex mcp add plimsoll -- npx --yes plimsoll mcp
  gemini mcp add plimsoll npx -- --yes plimsoll mcp
  npx plimsoll mcp --plugin opencode > ~/.config/opencode/plugin/plimsoll.js`,
    )
    .action(async ({ plugin, ...flags }: ConnectionFlags & { session?: string; plugin?: "opencode" }) => {
      if (plugin !== undefined) {
        const { opencodePlugin } = await import("./plugin-file.ts");
        return context.out.write(opencodePlugin());
      }
      // The library of the protocol is loaded only here.
      const { serveMcp } = await import("./serve.ts");
      await serveMcp(flags, context);
    });
}
