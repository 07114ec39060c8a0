import { Command } from "commander";
import { connect } from "./connection.ts";
import { healthUrl, runPhantomStatus } from "./phantom/command.ts";
import { run } from "./run.ts";
import { terminalOf } from "./terminal.ts";
import { VERSION } from "./version.ts";

const program = new Command("phantom")
  .description("What a running Phantom is doing, and how full its context is.")
  .version(VERSION)
  .showHelpAfterError("(phantom --help shows what there is)");

program
  .command("status")
  .description("Show quick status of the running Phantom, its context utilization included")
  .option("--json", "print the body of /health with a `context` section added")
  .option("-p, --port <port>", "port to check (default: 3100)")
  .option("-u, --url <url>", "full URL to check (overrides port)")
  .option("--plimsoll-url <url>", "where Plimsoll is (env PLIMSOLL_URL; default http://127.0.0.1:4180)")
  .option("--key <key>", "key for Plimsoll (env PLIMSOLL_KEY; default: this machine's token file)")
  .addHelpText(
    "after",
    `
Examples:
  phantom status                       the Phantom and the Plimsoll on this machine
  phantom status -p 3200               a Phantom on another port
  phantom status --json | jq .context  the four figures for a script

The line is Phantom's own; what follows comes from Plimsoll, for the harness called after the agent. Either half is
printed when the other side is down. Exit code 1 when both are.`,
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
          warn: (line) => console.error(line),
        },
      );
    },
  );

await run(program);
