import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import type { Places } from "@plimsoll/harnesses/bridge";
import {
  CONNECTABLE_HARNESSES,
  type ConnectableHarness,
  type ConnectionScope,
} from "@plimsoll/harnesses/connect";
import { type Command, Option } from "commander";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, withServer } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { homeFolder } from "../home-folder.ts";
import { compareClocks } from "../network/server-clock.ts";
import { machineOf } from "../origin/machine.ts";
import { REPOSITORY_MODES, type RepositoryMode } from "../origin/repository.ts";
import { printable } from "../terminal.ts";
import { assertAccepted, type ConnectOutcome, connectHarness, printedSettings } from "./connect-harness.ts";
import { healthOf, writeHealth } from "./connections.ts";
import { disconnectHarness, disconnectUnrecorded, nameOf } from "./disconnect-harness.ts";
import { firstEvent, firstReceipt, lastEvents, receiptsOf } from "./first-event.ts";
import { adapterOf } from "./harness-paths.ts";
import { installation } from "./installed.ts";
import { makeKey } from "./key.ts";
import { type PlanQuery, planConnection } from "./plan.ts";
import { allRecords, type ConnectionRecord, projectFolder } from "./record.ts";

interface ConnectFlags extends Omit<ConnectionFlags, "project"> {
  to?: string;
  user?: boolean;
  project?: boolean;
  print?: boolean;
  yes?: boolean;
  replace?: boolean;
  ingestKey?: string;
  wait?: boolean;
  statusline?: boolean;
  hooks?: boolean;
  repository?: RepositoryMode;
}

const FAMILIES = CONNECTABLE_HARNESSES.map(({ family }) => family).join(", ");

const HELP = `
Without a harness, the command connects each one that it finds on this machine, after a question for each.

It shows a diff without secrets, copies each file beside itself before the first change, creates an ingest key
and keeps comments, order and formatting. A setting of another exporter is a conflict and stays as it is.

Examples:
  npx plimsoll connect                          find harnesses and connect them
  npx plimsoll connect claude-code --project    only for the folder it runs in, in .claude/settings.local.json
  npx plimsoll connect codex --print            print the settings with a new key and write nothing
  npx plimsoll connect codex --yes              write without asking, for a script
  npx plimsoll disconnect codex                 put back what was there before, and revoke the key`;

export function addConnectCommands(program: Command, context: CommandContext): void {
  withServer(program.command("connect"))
    .description("Write into the settings of harnesses that they report to this server")
    .argument("[harness...]", `any of: ${FAMILIES}`)
    .option("--to <project>", "Plimsoll project for the events; name or id")
    .addOption(new Option("--user", "your own settings (default)").conflicts("project"))
    .option("--project", "the settings of the folder that the command runs in")
    .addOption(new Option("--print", "print the settings and write nothing").conflicts(["yes", "replace"]))
    .option("-y, --yes", "write without asking")
    .option("--replace", "replace settings of another exporter; disconnect puts them back")
    .addOption(
      new Option("--ingest-key <key>", "use this key instead of a new one (env PLIMSOLL_INGEST_KEY)"),
    )
    .option("--statusline", "show the level in Claude Code's status line too")
    .option("--no-hooks", "add no hooks, which report why a level fell")
    .addOption(
      new Option("--repository <mode>", "let hooks name the git remote and branch of a session").choices(
        REPOSITORY_MODES,
      ),
    )
    .option("--wait", "wait for the first event, also without a terminal")
    .option("--no-wait", "do not wait for the first event")
    .addHelpText("after", HELP)
    .action(async (names: string[], given: ConnectFlags) => {
      const ingestKey = given.ingestKey || context.env.PLIMSOLL_INGEST_KEY || undefined;
      const run = await startRun(given, context);
      const flags = { ...given, ingestKey: ingestKey ?? run.ingestKey };
      const harnesses = names.map(harnessOf);
      if (flags.print) await print(harnesses, run, flags, context);
      else await connectAll(harnesses, run, flags, context);
    });

  program
    .command("disconnect")
    .description("Put back the settings that connect changed, and revoke its key")
    .argument("[harness...]", `any of: ${FAMILIES}`)
    .option("--all", "every connection of this machine")
    .addOption(new Option("--user", "only your own settings").conflicts("project"))
    .option("--project", "only the settings of the folder that the command runs in")
    .option("--keep-key", "do not revoke the key")
    .action(
      async (
        names: string[],
        flags: { all?: boolean; user?: boolean; project?: boolean; keepKey?: boolean },
      ) => {
        await disconnectAll(
          names.map((name) => harnessOf(name).family),
          flags,
          context,
        );
      },
    );

  program
    .command("connections")
    .description("List the connected harnesses: last event, version and what is missing")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const home = homeFolder(context.env);
      const records = await allRecords(home);
      const health = await healthOf(records, home, placesOf(context), context);
      writeHealth(context, health, json === true);
      if (health.some(({ missing }) => missing.length > 0)) process.exitCode = 1;
    });
}

/** What one run of `connect` uses for every harness. */
interface ConnectRun {
  client: Client;
  /** Of this machine's login, which may not make keys. */
  ingestKey: string | undefined;
  query: Omit<PlanQuery, "key" | "harness">;
}

async function startRun(flags: ConnectFlags, context: CommandContext): Promise<ConnectRun> {
  const { url, key, to } = flags;
  const connection = await connect({ url, key, project: to }, context.env);
  const scope: ConnectionScope = flags.project ? "project" : "user";
  return {
    client: createClient(connection),
    ingestKey: connection.ingestKey,
    query: {
      scope,
      url: connection.url,
      host: machineOf(context.env),
      places: placesOf(context),
      home: homeFolder(context.env),
      statusLine: flags.statusline === true,
      hooks: flags.hooks !== false,
      repository: flags.repository,
    },
  };
}

const placesOf = ({ env }: CommandContext): Places => ({
  home: env.HOME || homedir(),
  project: process.cwd(),
  env,
  platform: process.platform,
});

function harnessOf(name: string): ConnectableHarness {
  const harness = CONNECTABLE_HARNESSES.find(({ family }) => family === name.toLowerCase());
  if (harness !== undefined) return harness;
  throw new CliError(`Plimsoll cannot connect the harness ${JSON.stringify(name)}.`, {
    hint: `It connects: ${FAMILIES}. docs/connect.md says how others report; npx plimsoll import reads recordings.`,
  });
}

async function installedHarnesses(
  { query }: ConnectRun,
  { out }: CommandContext,
): Promise<ConnectableHarness[]> {
  const found: ConnectableHarness[] = [];
  for (const harness of CONNECTABLE_HARNESSES) {
    const installed = await installation(adapterOf(harness), query.places);
    if (installed === undefined) continue;
    if (!takesScope(harness, query.scope)) continue;
    found.push(harness);
    out.write(
      `Found ${harness.name}${installed.version === undefined ? "" : ` ${printable(installed.version)}`}.\n`,
    );
  }
  if (found.length === 0) out.write(`Found none of: ${FAMILIES}. Name one to connect it nevertheless.\n`);
  return found;
}

const takesScope = (harness: ConnectableHarness, scope: ConnectionScope) =>
  scope === "user" || adapterOf(harness).projectSettings !== undefined;

function assertScope(harness: ConnectableHarness, scope: ConnectionScope): void {
  if (takesScope(harness, scope)) return;
  throw new CliError(
    `${harness.name} takes telemetry settings only from your own settings, not from a project.`,
    {
      hint: `Leave out --project: npx plimsoll connect ${harness.family}`,
    },
  );
}

async function print(
  harnesses: readonly ConnectableHarness[],
  { client, query }: ConnectRun,
  { ingestKey }: ConnectFlags,
  { out }: CommandContext,
): Promise<void> {
  const [harness, ...more] = harnesses;
  if (harness === undefined || more.length > 0) throw new CliError("Name one harness to print its settings.");
  assertScope(harness, query.scope);
  if (ingestKey !== undefined) await assertAccepted(query.url, ingestKey);
  const key = ingestKey ?? (await makeKey(client, `${harness.family}@${query.host}`)).secret;
  out.write(printedSettings(await planConnection({ ...query, harness, key })));
}

async function connectAll(
  named: readonly ConnectableHarness[],
  run: ConnectRun,
  flags: ConnectFlags,
  context: CommandContext,
): Promise<void> {
  const { client, query } = run;
  for (const harness of named) assertScope(harness, query.scope);
  // Asked before anything is shown: without a server nothing can be connected.
  const before =
    flags.ingestKey === undefined
      ? await lastEvents(client)
      : await lastEvents(client).catch(() => undefined);
  const { fault } = (await compareClocks(query.url, context.now)) ?? {};
  if (fault !== undefined) context.err.write(`${fault}\n`);
  const harnesses = named.length > 0 ? named : await installedHarnesses(run, context);
  const connected: ConnectableHarness[] = [];
  const outcomes = new Set<ConnectOutcome>();
  for (const harness of harnesses) {
    context.out.write(`\n${harness.name}: ${harness.reports} ${harness.lacks}\n`);
    const outcome = await connectHarness(
      { ...query, harness },
      {
        client,
        ingestKey: flags.ingestKey,
        project: flags.to,
        yes: flags.yes === true,
        replace: flags.replace === true,
      },
      context,
    );
    outcomes.add(outcome);
    if (outcome === "connected") connected.push(harness);
  }
  if (outcomes.has("conflict")) process.exitCode = 1;
  if (connected.length > 0) await waitForEach(connected, run, before, flags, context);
}

async function waitForEach(
  harnesses: readonly ConnectableHarness[],
  { client, query }: ConnectRun,
  before: Awaited<ReturnType<typeof lastEvents>>,
  { wait, ingestKey }: ConnectFlags,
  context: CommandContext,
): Promise<void> {
  const { out } = context;
  const names = harnesses.map(({ name }) => name).join(", ");
  const opens = harnesses.some(({ files }) =>
    files({ url: "", key: "", host: "" }).some(({ id }) => id === "profile"),
  );
  out.write(`\nStart ${names} again${opens ? " in a new terminal" : ""} and send a prompt.\n`);
  if (!(wait ?? context.ask !== undefined)) return;
  if (before === undefined) return waitForKey(query.url, ingestKey, context);
  out.write("Waiting for the first event. Press Ctrl+C to stop waiting; the settings stay.\n");
  const signal = context.untilStopped();
  const families = new Set(harnesses.map(({ family }) => family));
  while (families.size > 0) {
    const reporting = await firstEvent(client, [...families], query.host, before, signal);
    if (reporting === undefined) break;
    families.delete(reporting.family);
    out.write(`Events of ${nameOf(reporting)} arrive, as ${printable(reporting.instance)}.\n`);
  }
  for (const family of families)
    out.write(
      `No event of ${nameOf({ family })} has arrived yet. Check later with: npx plimsoll connections\n`,
    );
}

/** A key that may only send sees what it sent itself. */
async function waitForKey(url: string, key: string | undefined, context: CommandContext): Promise<void> {
  const { out } = context;
  const before = key === undefined ? undefined : await receiptsOf(url, key);
  if (key === undefined || before === undefined) {
    out.write("This key may not read, so the command cannot tell when the first event arrives.\n");
    return;
  }
  out.write("Waiting for the first event of this key. Press Ctrl+C to stop waiting; the settings stay.\n");
  const now = await firstReceipt(url, key, before, context.untilStopped());
  const [rejection] = now?.last_rejections ?? [];
  if (now === undefined) out.write("No event of this key has arrived yet.\n");
  else if (now.accepted > before.accepted) out.write("Events of this key arrive.\n");
  else out.write(`The server rejects the events of this key: ${printable(rejection?.message ?? "")}\n`);
}

/** Settings of a person are of every folder. */
const isHere = (record: ConnectionRecord) =>
  record.scope === "user" || projectFolder(record) === realpathSync(process.cwd());

async function disconnectAll(
  families: readonly string[],
  flags: { all?: boolean; user?: boolean; project?: boolean; keepKey?: boolean },
  context: CommandContext,
): Promise<void> {
  if (families.length === 0 && !flags.all)
    throw new CliError("Name the harness to disconnect, or pass --all.", {
      hint: "List the connections with: npx plimsoll connections",
    });
  const home = homeFolder(context.env);
  const scope = flags.user ? "user" : flags.project ? "project" : undefined;
  const found = (await allRecords(home)).filter(
    ({ record }) =>
      (scope === undefined || record.scope === scope) &&
      (flags.all || (families.includes(record.family) && isHere(record))),
  );
  for (const connection of found) await disconnectHarness(connection, home, flags.keepKey === true, context);
  // Settings that a person wrote look like those of a connection, and were just put back.
  const undone = new Set(found.flatMap(({ record }) => record.files.map(({ path }) => path)));
  let unrecorded = 0;
  const places = placesOf(context);
  for (const harness of CONNECTABLE_HARNESSES) {
    if (!flags.all && !families.includes(harness.family)) continue;
    for (const one of ["user", "project"] as const) {
      if ((scope !== undefined && scope !== one) || !takesScope(harness, one)) continue;
      const query = { harness, scope: one, places, home };
      if (await disconnectUnrecorded(query, undone, context, flags.keepKey === true)) unrecorded += 1;
    }
  }
  if (found.length + unrecorded === 0)
    throw new CliError("There is no such connection on this machine, of yours or of this folder.", {
      hint: "List them with: npx plimsoll connections. --all disconnects those of every folder.",
    });
}
