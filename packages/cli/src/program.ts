import { hostname } from "node:os";
import { Command, Option } from "commander";
import { z } from "zod";
import { createClient } from "./client.ts";
import type { ConnectionFlags } from "./connection.ts";
import { connect } from "./connection.ts";
import { DOCTOR_MS, type DoctorFlags, runDoctor } from "./doctor.ts";
import { addImportCommands } from "./import/command.ts";
import { createKey, listKeys, parseScopes, revokeKey } from "./keys.ts";
import type { Surroundings } from "./options.ts";
import { withConnection } from "./options.ts";
import { runStatus } from "./status/command.ts";
import { watchStatus } from "./status/watch.ts";
import { VERSION } from "./version.ts";

const EXAMPLES = `
Examples:
  plimsoll status                                  the fleet, and how near each agent is to its line
  plimsoll status --watch                          the same, kept up to date
  plimsoll status --json | jq .status.totals       for a script
  plimsoll import ~/.claude/projects               read what Claude Code has recorded
  plimsoll tail ~/.codex/sessions                  and go on reading
  plimsoll key create --name ci --scope ingest     a key for another machine

Settings:
  -u, PLIMSOLL_URL     where the server is (default http://127.0.0.1:4180, or PORT)
  --key, PLIMSOLL_KEY  the key; on the server's own machine its token file is used by itself
  PLIMSOLL_HOME        where that file is (default ~/.plimsoll; as root /var/lib/plimsoll)
  NO_COLOR             no colour

Exit code 0: it worked. 1: it did not, and the reason is on standard error.`;

export function createProgram(around: Surroundings): Command {
  const program = new Command("plimsoll")
    .description("How full every agent's context window is, and how near to its line.")
    .version(VERSION)
    .showHelpAfterError("(add --help to see what there is)")
    .addHelpText("after", EXAMPLES);

  withConnection(program.command("status"))
    .description("Show the fleet: totals of the last 24 hours and one line for each live agent")
    .option("--json", "print one JSON object: {url, status, fleet}")
    .addOption(new Option("-w, --watch", "stay, and redraw when something changes").conflicts("json"))
    .option("--harness <instance>", "only this harness instance")
    .addHelpText(
      "after",
      `
Each agent's bar is drawn to its own scale: the heavy stroke, at four fifths, is the agent's line (its ceiling, else the
hard threshold, else the reserve); light strokes are its other thresholds. Load is context tokens against the line.
"window suspect" means more tokens than the window is said to hold. "~" marks a level that the next turn will correct.`,
    )
    .action(async (flags: ConnectionFlags & { json?: boolean; watch?: boolean; harness?: string }) => {
      const connection = await connect(flags, around.env);
      if (flags.watch) {
        const signal = around.untilStopped();
        await watchStatus(connection, around.out, { harness: flags.harness, now: around.now, signal });
        return;
      }
      await runStatus(connection, around.out, {
        json: flags.json === true,
        harness: flags.harness,
        now: around.now(),
      });
    });

  addImportCommands(program, around);

  withConnection(program.command("doctor"))
    .description("Check the server and its stored data; exit code 1 if a check fails")
    .option("--full", "examine everything instead of a sample of about 20 s")
    .option("--json", "print the report as JSON")
    .action(async ({ json, full, ...flags }: ConnectionFlags & DoctorFlags) => {
      const connection = await connect(flags, around.env);
      const client = createClient(connection, DOCTOR_MS);
      if (!(await runDoctor(client, connection, around, { ...(json && { json }), ...(full && { full }) })))
        process.exitCode = 1;
    });

  addKeyCommands(program, around);

  withConnection(program.command("login"))
    .description("Print a fresh link that logs one browser in, once")
    .action(async (flags: ConnectionFlags) => {
      const client = createClient(await connect(flags, around.env));
      const { url } = await client.mutate("login.create", undefined, z.object({ url: z.string() }));
      around.out.write(`${url}\n`);
    });
  return program;
}

function addKeyCommands(program: Command, around: Surroundings): void {
  const key = program.command("key").description("Create, list and revoke keys");
  withConnection(key.command("create"))
    .description("Create a key; it is shown this once")
    .option("--name <name>", "what it is for", `cli@${hostname()}`)
    .requiredOption(
      "--scope <scopes>",
      "with commas between: ingest, read, policy:read, policy:ack, policy:write, admin",
    )
    .option("-q, --quiet", "print the key alone")
    .addHelpText(
      "after",
      `
Examples:
  plimsoll key create --name ci --scope ingest
  export PLIMSOLL_KEY=$(plimsoll key create --name laptop --scope ingest,read --quiet)`,
    )
    .action(async (flags: ConnectionFlags & { name: string; scope: string; quiet?: boolean }) => {
      const scopes = parseScopes(flags.scope);
      const client = createClient(await connect(flags, around.env));
      await createKey(client, around.out, { name: flags.name, scopes, quiet: flags.quiet === true });
    });
  withConnection(key.command("list"))
    .description("List keys, without their secrets")
    .option("--json", "print as JSON")
    .action(async (flags: ConnectionFlags & { json?: boolean }) => {
      const client = createClient(await connect(flags, around.env));
      await listKeys(client, around.out, { json: flags.json === true, now: around.now() });
    });
  withConnection(key.command("revoke"))
    .description("Revoke a key: it is refused from now on")
    .argument("<id|prefix>", "the id, or enough of the prefix")
    .action(async (which: string, flags: ConnectionFlags) => {
      await revokeKey(createClient(await connect(flags, around.env)), around.out, which);
    });
}
