import { type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { CliError } from "../errors.ts";
import { sleep } from "../sleep.ts";
import { printable } from "../terminal.ts";
import { installedServices, installService, type ServiceKind, uninstallService } from "./manage.ts";

const HELP = `
The service is one of systemd on Linux, and of launchd on macOS. It starts with the machine, restarts after 30 s, and may write only
to PLIMSOLL_HOME. The settings that this command runs with are copied to a file that only you can read: log in first.

Examples:
  npx plimsoll service install tail ~/.claude/projects    import recordings as they grow
  npx plimsoll service install --server                   run the server of this folder
  npx plimsoll service status
  npx plimsoll service uninstall plimsoll-tail`;

export function addServiceCommands(program: Command, context: CommandContext, pause = sleep): void {
  const service = program
    .command("service")
    .description("Run tail, forward or the server in the background, also after a restart of the machine")
    .addHelpText("after", HELP);

  service
    .command("install")
    .description("Install and start a service")
    .argument("[command...]", "tail or forward, with its arguments")
    .option("--server", "the server of the folder that this program is in")
    .addOption(new Option("--system", "for the whole machine instead of this user; as root, with --server"))
    .passThroughOptions()
    .action(async (words: string[], flags: { server?: boolean; system?: boolean }) => {
      const kind = kindOf(words, flags);
      const installed = await installService(kind, { system: flags.system === true }, context, pause);
      for (const line of installed) context.out.write(`${printable(line)}\n`);
    });

  service
    .command("uninstall")
    .description("Stop services and remove them; all of them without a name")
    .argument("[name...]", "such as plimsoll-tail")
    .action(async (names: string[]) => {
      const all = await installedServices(context.env);
      const chosen = names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
      if (chosen.length === 0) throw new CliError("No such service is installed.");
      for (const found of chosen) {
        await uninstallService(found);
        context.out.write(`Removed ${printable(found.name)}.\n`);
      }
    });

  service
    .command("status")
    .description("List the services; exit code 1 if one does not run")
    .action(async () => {
      const all = await installedServices(context.env);
      if (all.length === 0) context.out.write("No service is installed.\n");
      for (const { name, path, state } of all)
        context.out.write(`${printable(name)}  ${printable(await state())}  ${printable(path)}\n`);
      for (const { state } of all) if ((await state()) !== "active") process.exitCode = 1;
    });
}

function kindOf(
  words: readonly string[],
  { server, system }: { server?: boolean; system?: boolean },
): ServiceKind {
  const [command, ...args] = words;
  if (server === true && command === undefined) return { kind: "server" };
  if (system === true) throw new CliError("--system goes with --server: other services belong to a user.");
  if (command === "tail" && args.length > 0) return { kind: "tail", args };
  if (command === "forward" && args.length > 0) return { kind: "forward", args };
  throw new CliError("Name what the service runs: tail PATH…, forward --connection FOLDER, or --server.");
}
