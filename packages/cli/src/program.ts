import { hostname } from "node:os";
import { GRACES, type Grace } from "@plimsoll/protocol/api";
import { Argument, Command, Option } from "commander";
import { addAcpCommand } from "./acp/command.ts";
import { addAlertCommands } from "./alerts/command.ts";
import { addAuditCommand } from "./audit.ts";
import { addBackupCommands } from "./backup/command.ts";
import { addBridgeCommand } from "./bridge/command.ts";
import { createClient } from "./client.ts";
import { type CommandContext, durationOf, withConnection } from "./command-context.ts";
import { addConnectCommands } from "./connect/command.ts";
import { type ConnectionFlags, connect } from "./connection.ts";
import { addContextCommand } from "./context/command.ts";
import { addDeleteCommand } from "./delete.ts";
import { DOCTOR_MS, type DoctorFlags, runDoctor } from "./doctor.ts";
import { CliError } from "./errors.ts";
import { addForwardCommand } from "./forward/command.ts";
import { addImportCommands } from "./import/command.ts";
import { createKey, listKeys, parseExpiry, parseScopes, revokeKey, rotateKey } from "./keys.ts";
import { addLoginCommands } from "./login/command.ts";
import { addMapCommands } from "./map/command.ts";
import { addMcpCommand } from "./mcp/command.ts";
import { addPolicyCommands } from "./policy/command.ts";
import { addProjectCommands } from "./projects.ts";
import { addServiceCommands } from "./service/command.ts";
import { addShellCommands } from "./shell/command.ts";
import { addUpCommand } from "./start-server.ts";
import { runStatus } from "./status/command.ts";
import { runSince } from "./status/since.ts";
import { watchStatus } from "./status/watch.ts";
import { VERSION } from "./version.ts";

const EXAMPLES = `
Examples:
  npx plimsoll                                         start the server and print the login link
  npx plimsoll up --open                               the same, and open the browser
  npx plimsoll status                                  show the fleet and the load of each agent
  npx plimsoll status --watch                          the same, kept up to date
  npx plimsoll since 8h                                show what happened in the last 8 hours
  npx plimsoll status --json | jq .status.totals       the same for a script
  npx plimsoll login https://plimsoll.example          log this machine in at a server
  npx plimsoll connect                                 have Claude Code, Codex and others report here
  npx plimsoll import ~/.claude/projects               import Claude Code transcripts
  npx plimsoll tail ~/.codex/sessions                  import Codex rollouts and follow them
  npx plimsoll map                                     list data that nothing reads, to map it
  npx plimsoll bridge claude-code                      write the policy into its settings
  npx plimsoll key create --name ci --scope ingest     create a key for another machine
  npx plimsoll policy get > policy.yaml                write the policy to a file
  npx plimsoll alerts                                  show what fires; exit code 2 if anything does
  npx plimsoll delete --demo                           delete what the demo fleet recorded
  npx plimsoll audit                                   show who changed keys, settings and projects
  npx plimsoll backup --encrypt                        write all data to an encrypted file

Settings:
  -u, PLIMSOLL_URL     server URL (default: that of plimsoll login, else http://127.0.0.1:4180, or the port in PORT)
  --key, PLIMSOLL_KEY  key (default: that of plimsoll login; on the server's machine, the token file in PLIMSOLL_HOME)
  PLIMSOLL_HOME        data directory (default: ~/.plimsoll; as root /var/lib/plimsoll)
  HTTPS_PROXY          proxy for https URLs, except those in NO_PROXY
  NODE_EXTRA_CA_CERTS  file with certificates of authorities to trust
  NO_COLOR             disable colors

Exit code: 0 on success, 1 on failure, 2 if an alert fires. Errors go to standard error.`;

const RUN_AS_PROGRAM =
  "Run it as the program plimsoll, which starts it without the rest of the command line.";

export function createProgram(context: CommandContext): Command {
  const program = new Command("plimsoll")
    .description("Show how full the context window of every agent is.")
    .version(VERSION)
    .showHelpAfterError("Run with --help to list commands and options.")
    // Else a command takes the options that follow the name of one below it.
    .enablePositionalOptions()
    .addHelpText("after", EXAMPLES);

  addUpCommand(program, context);
  withConnection(program.command("status"))
    .description("Show totals of the last 24 hours and one line per live agent")
    .option("--json", "print a JSON object: {url, status, fleet}")
    .addOption(new Option("-w, --watch", "keep running and redraw on every change").conflicts("json"))
    .option("--harness <instance>", "show only this harness instance")
    .addHelpText(
      "after",
      `
Line    the threshold at which the harness acts: the ceiling, else hard, else the reserve
Load    context tokens divided by the tokens at the line
Bar     the heavy stroke at 80% of the bar is the line; light strokes are the other thresholds
~       an outdated level, because a boundary or turns without a count followed
To line how many turns and minutes are left; "end in" is past the line, and counts to the end of the window
State   "window suspect" means that context tokens exceed the window size, which is probably wrong

Keys    with --watch: j, k, arrows, Page Up and Page Down scroll, g and G go to the first and last agent, q stops`,
    )
    .action(async (flags: ConnectionFlags & { json?: boolean; watch?: boolean; harness?: string }) => {
      const connection = await connect(flags, context.env);
      if (flags.watch) {
        const signal = context.untilStopped();
        await watchStatus(connection, context.out, { harness: flags.harness, now: context.now, signal });
        return;
      }
      await runStatus(connection, context.out, {
        json: flags.json === true,
        harness: flags.harness,
        now: context.now(),
      });
    });

  withConnection(program.command("since"))
    .description(
      "Show what happened since a time: alerts, falls without a cause, restarts, sessions that ended",
    )
    .addArgument(
      new Argument("[time]", "how long ago: 30m, 8h, 2d; at most 31d")
        .argParser(durationOf)
        .default(28_800_000, "8h"),
    )
    .option("--json", "print the answer of /api/v1/digest")
    .option("--harness <instance>", "show only this harness instance")
    .action(async (ms: number, flags: ConnectionFlags & { json?: boolean; harness?: string }) => {
      await runSince(await connect(flags, context.env), context.out, {
        ms,
        json: flags.json === true,
        harness: flags.harness,
        now: context.now(),
      });
    });

  addContextCommand(program, context);
  addMcpCommand(program, context);
  addImportCommands(program, context);
  addMapCommands(program, context);
  addConnectCommands(program, context);
  addBridgeCommand(program, context);
  addDeleteCommand(program, context);

  withConnection(program.command("doctor"))
    .description("Check the server and its stored data; exit code 1 if a check fails")
    .option("--full", "examine everything instead of a sample of about 20 s")
    .option("--json", "print the report as JSON")
    .action(async ({ json, full, ...flags }: ConnectionFlags & DoctorFlags) => {
      const connection = await connect(flags, context.env);
      const client = createClient(connection, DOCTOR_MS);
      if (!(await runDoctor(client, connection, context, { ...(json && { json }), ...(full && { full }) })))
        process.exitCode = 1;
    });

  addKeyCommands(program, context);
  addPolicyCommands(program, context);
  addAlertCommands(program, context);
  addProjectCommands(program, context);
  addAuditCommand(program, context);
  addBackupCommands(program, context);

  program
    .command("statusline")
    .description(
      "Print one line for the status line of Claude Code or Copilot CLI, or one for each sub-agent; reads its JSON on standard input",
    )
    .option("--wrap <command>", "run this command first, with the same input, and show its output above")
    .option("--quota", "end the line with the limits of the account")
    .option("--cache", "show when Claude Code's prompt cache goes cold")
    .action(() => {
      throw new CliError(RUN_AS_PROGRAM);
    });

  program
    .command("hook")
    .description("Report why a level fell; a harness runs it as a hook, with its JSON on standard input")
    .argument("<harness>", "claude-code, codex, gemini-cli or kimi")
    .option("--harness <instance>", "harness instance of the events (default: <harness>@<this host>)")
    .option("--connection <folder>", "record of the connection that wrote the hook")
    .action(() => {
      throw new CliError(RUN_AS_PROGRAM);
    });

  addShellCommands(program, context.out);
  addForwardCommand(program, context);
  addAcpCommand(program, context);

  addLoginCommands(program, context);
  addServiceCommands(program, context);
  return program;
}

function addKeyCommands(program: Command, context: CommandContext): void {
  const key = program.command("key").description("Create, list, rotate and revoke keys");
  withConnection(key.command("create"))
    .description("Create a key; it is shown only once")
    .option("--name <name>", "name of the key", `cli@${hostname()}`)
    .requiredOption(
      "--scope <scopes>",
      "comma-separated: ingest, read, self, policy:read, policy:ack, policy:write, alerts:write, sessions:write, admin",
    )
    .option(
      "--harness <name>",
      "with the scope self: whose agents it answers, such as support@web-1 or support",
    )
    .option("--expires <when>", "never, a number of days such as 90d, or a date such as 2027-03-03", "never")
    .option("-q, --quiet", "print only the key")
    .addHelpText(
      "after",
      `
Examples:
  npx plimsoll bridge claude-code                      write the policy into its settings
  npx plimsoll key create --name ci --scope ingest --expires 90d
  export PLIMSOLL_KEY=$(npx plimsoll key create --name laptop --scope ingest,read --quiet)`,
    )
    .action(
      async (
        flags: ConnectionFlags & {
          name: string;
          scope: string;
          harness?: string;
          expires: string;
          quiet?: boolean;
        },
      ) => {
        const { name, harness, quiet = false } = flags;
        const scopes = parseScopes(flags.scope);
        const expiresAt = parseExpiry(flags.expires, context.now());
        const client = createClient(await connect(flags, context.env));
        await createKey(client, context.out, { name, scopes, harness, expiresAt, quiet });
      },
    );
  withConnection(key.command("rotate"))
    .description("Replace a key by a new one with the same name, scopes and length of life")
    .argument("<id|prefix>", "id or unambiguous prefix")
    .addOption(
      new Option("--grace <time>", "how long the old key goes on working").choices(GRACES).default("24h"),
    )
    .option("-q, --quiet", "print only the new key")
    .action(async (which: string, flags: ConnectionFlags & { grace: Grace; quiet?: boolean }) => {
      const { grace, quiet = false } = flags;
      const client = createClient(await connect(flags, context.env));
      await rotateKey(client, context.out, { which, grace, now: context.now(), quiet });
    });
  withConnection(key.command("list"))
    .description("List keys without their secrets")
    .option("--json", "print JSON")
    .action(async (flags: ConnectionFlags & { json?: boolean }) => {
      const client = createClient(await connect(flags, context.env));
      await listKeys(client, context.out, { json: flags.json === true, now: context.now() });
    });
  withConnection(key.command("revoke"))
    .description("Revoke a key; the server rejects it immediately")
    .argument("<id|prefix>", "id or unambiguous prefix")
    .action(async (which: string, flags: ConnectionFlags) => {
      await revokeKey(createClient(await connect(flags, context.env)), context.out, which);
    });
}
