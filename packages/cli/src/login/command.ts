import type { Command } from "commander";
import { z } from "zod";
import { createClient } from "../client.ts";
import { type CommandContext, withServer } from "../command-context.ts";
import { type ConnectionFlags, connect, serverUrl } from "../connection.ts";
import { CliError } from "../errors.ts";
import { homeFolder } from "../home-folder.ts";
import { machineOf } from "../origin/machine.ts";
import { printable } from "../terminal.ts";
import { loginMachine, logoutMachine } from "./machine-login.ts";

export function addLoginCommands(program: Command, context: CommandContext): void {
  withServer(program.command("login"))
    .description(
      "Log this machine in at a server; without a URL, print a one-time login link for the browser",
    )
    .argument("[server]", "URL of the server, such as https://plimsoll.example")
    .option("--name <name>", "name of this machine", machineOf(context.env))
    .addHelpText(
      "after",
      `
With a URL, the command prints a code. A signed-in person confirms it in a browser on any machine. Commands on this machine then
use that server: connect, tail, import and status. plimsoll logout ends it.`,
    )
    .action(async (server: string | undefined, flags: ConnectionFlags & { name: string }) => {
      if (server !== undefined) {
        if (flags.url !== undefined || flags.key !== undefined)
          throw new CliError("Give the URL alone: npx plimsoll login https://plimsoll.example");
        const url = serverUrl({ url: server }, {});
        await loginMachine({ url, machine: flags.name, home: homeFolder(context.env) }, context);
        return;
      }
      const client = createClient(await connect(flags, context.env));
      const { url } = await client.mutate("login.create", undefined, z.object({ url: z.string() }));
      context.out.write(`${printable(url)}\n`);
    });

  program
    .command("logout")
    .description("Revoke the keys of this machine and forget them")
    .action(() => logoutMachine(homeFolder(context.env), context));
}
