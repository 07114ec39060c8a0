import { Command } from "commander";
import { connect } from "./connection.ts";
import { healthUrl, runPhantomStatus } from "./phantom/command.ts";
import { run } from "./run.ts";
import { printable, terminalOf } from "./terminal.ts";
import { VERSION } from "./version.ts";

const program = new Command("phantom")
  .description("Show the status of a running Phantom and its context usage.")
  .version(VERSION)
  .showHelpAfterError("Run with --help to list commands and options.");

program
  .command("status")
  .description("Show quick status of the running Phantom, including its context usage")
  .option("--json", "print the body of /health with a `context` section added")
  .option("-p, --port <port>", "port to check (default: 3100)")
  .option("-u, --url <url>", "full URL to check (overrides port)")
  .option("--plimsoll-url <url>", "Plimsoll URL (env PLIMSOLL_URL; default: http://127.0.0.1:4180)")
  .option("--key <key>", "Plimsoll key (env PLIMSOLL_KEY; default: the token file on this machine)")
  .addHelpText(
    "after",
    `
Examples:
  phantom status                       Phantom and Plimsoll on this machine
  phantom status -p 3200               Phantom on another port
  phantom status --json | jq .context  the four context figures for a script

The first line comes from Phantom. The context figures come from Plimsoll, for the harness named after the agent.
If one of them is down, the command prints the other half. The exit code is 1 only if both are down.`,
  )
  .action(
    async (flags: { json?: boolean; port?: string; url?: string; plimsollUrl?: string; key?: string }) => {
      await runPhantomStatus(
        await connect({ url: flags.plimsollUrl, key: flags.key }, process.env),
        terminalOf(process.stdout, process.env),
        {
          healthUrl: healthUrl(flags),
          json: flags.json === true,
          now: Date.now(),
          warn: (line) => console.error(printable(line)),
        },
      );
    },
  );

await run(program);
