import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { GuardError } from "@plimsoll/guard";
import { type Lock, lockFile } from "@plimsoll/guard/node";
import type { HarnessAdapter, Places } from "@plimsoll/harnesses/bridge";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import { pathText } from "@plimsoll/harnesses/fields";
import { type Command, Option } from "commander";
import { type CommandContext, wholeNumber, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { homeFolder } from "../home-folder.ts";
import { machineOf } from "../origin/machine.ts";
import { fetchPolicy } from "../policy/fetch-policy.ts";
import { followedPolicy } from "../reinject/followed-policy.ts";
import { writeTable } from "../table.ts";
import { printable } from "../terminal.ts";
import { UnreadableSettings } from "./edit/edit.ts";
import { bridgeAlways, bridgeOnce, type FollowOptions } from "./follow.ts";
import { type BridgeReport, type BridgeTarget, isInstalled } from "./harness-bridge.ts";
import { noteHook } from "./hook.ts";
import { installHook, removeHook } from "./hook-file.ts";
import { differenceText, dryRun, lineText, OVERVIEW_HEAD, overviewRow } from "./overview.ts";
import { requireSafeFolder, SettingsFileError } from "./settings-file.ts";
import { readSettings, undo } from "./settings-session.ts";

interface BridgeFlags extends ConnectionFlags {
  harnessId?: string;
  settings?: string;
  managed?: boolean;
  model?: string;
  window?: number;
  once?: boolean;
  dryRun?: boolean;
  undo?: boolean;
  putBack?: boolean;
  hook?: boolean;
}

const HELP = `
Without a harness, the command lists the harnesses on this machine and changes nothing.

Control
  next session  sessions that start later obey it
  on/off        compaction can be switched on and off, but has no line
  none          nothing can be set

The key needs the scopes policy:read and ingest (or policy:ack).

Examples:
  npx plimsoll bridge                                list harnesses, their lines and those of the policy
  npx plimsoll bridge claude-code --dry-run          show what would change
  npx plimsoll bridge claude-code                    write the policy now and whenever it changes
  npx plimsoll bridge codex --once                   write it once, for example from cron
  sudo npx plimsoll bridge claude-code --managed     write it for every user of this machine
  npx plimsoll bridge claude-code --undo             put back what was there before`;

export function addBridgeCommand(program: Command, context: CommandContext): void {
  const bridge = withConnection(program.command("bridge"))
    .description("Write the policy into the settings of a harness that is not guarded")
    .argument("[harness]", `one of: ${ADAPTERS.map(({ family }) => family).join(", ")}`)
    .option("--harness-id <instance>", "harness instance (default: <harness>@<this host>)")
    .option("--settings <path>", "settings file (default: that of the harness)")
    .addOption(
      new Option("--managed", "write managed settings, for every user of this machine").conflicts([
        "settings",
        "hook",
      ]),
    )
    .option("--model <name>", "model that the line is for")
    .option("--window <tokens>", "size of the window, if the model is unknown", wholeNumber)
    .addOption(new Option("--once", "write the policy and end").conflicts(["dryRun", "undo"]))
    .addOption(new Option("--dry-run", "show what would change and write nothing").conflicts("undo"))
    .option("--undo", "put back the settings from before the bridge")
    .option("--put-back", "set keys again that somebody changed")
    .option("--hook", "install a SessionStart hook in Claude Code without asking, so that it acknowledges")
    .option("--no-hook", "install no hook")
    .addHelpText("after", HELP)
    .action(async (name: string | undefined, flags: BridgeFlags) => {
      if (name === undefined) await list(flags, context);
      else await runBridge(adapterOf(name), flags, context);
    });
  bridge
    .command("hook", { hidden: true })
    .argument("<folder>")
    .action(async (folder: string) => {
      await noteHook(folder, await readStdin(), context.now());
    });
}

function adapterOf(name: string): HarnessAdapter {
  const adapter = ADAPTERS.find(({ family }) => family === name.toLowerCase());
  if (adapter !== undefined) return adapter;
  throw new CliError(`The bridge does not know the harness ${JSON.stringify(name)}.`, {
    hint: `It knows: ${ADAPTERS.map(({ family }) => family).join(", ")}.`,
  });
}

function placesOf({ env }: CommandContext): Places {
  return { home: env.HOME || homedir(), project: process.cwd(), env, platform: process.platform };
}

function targetOf(adapter: HarnessAdapter, flags: BridgeFlags, context: CommandContext): BridgeTarget {
  const places = placesOf(context);
  return {
    adapter,
    places,
    path: pathOf(adapter, flags, places),
    managed: flags.managed === true,
    home: homeFolder(context.env),
    model: flags.model,
    windowTokens: flags.window,
    putBack: flags.putBack === true,
  };
}

function pathOf(adapter: HarnessAdapter, { settings, managed }: BridgeFlags, places: Places): string {
  if (settings !== undefined) return resolve(settings);
  if (!managed) return adapter.settingsFile(places);
  if (adapter.managed !== undefined) return adapter.managed.file(places);
  const known = ADAPTERS.filter((one) => one.managed !== undefined).map(({ family }) => family);
  throw new CliError(`The bridge writes no managed settings of ${adapter.name}.`, {
    hint: `It does for: ${known.join(", ")}. Omit --managed to write the settings of your user.`,
  });
}

const instanceOf = ({ family }: HarnessAdapter, { harnessId }: BridgeFlags) =>
  harnessId ?? `${family}@${machineOf()}`;

async function list(flags: BridgeFlags, context: CommandContext): Promise<void> {
  if (flags.once || flags.undo || flags.dryRun || flags.managed || flags.settings !== undefined)
    throw new CliError("Name the harness.", {
      hint: "For example: npx plimsoll bridge claude-code --dry-run",
    });
  const connection = await connect(flags, context.env);
  const rows = [];
  let trouble: string | undefined;
  for (const adapter of ADAPTERS) {
    const target = targetOf(adapter, flags, context);
    if (!(await isInstalled(adapter, target.places))) continue;
    const reader = { harness: instanceOf(adapter, flags), model: flags.model };
    const policy = await fetchPolicy(connection, reader).catch((error: unknown) => {
      if (!(error instanceof CliError)) throw error;
      trouble = error.message;
      return undefined;
    });
    rows.push(await overviewRow(target, policy, context.now()));
  }
  if (rows.length === 0) {
    context.out.write("No known harness was found on this machine.\n");
    return;
  }
  writeTable(context.out, OVERVIEW_HEAD, rows);
  if (trouble !== undefined) context.err.write(`${printable(trouble)} Lines after the policy are unknown.\n`);
}

async function runBridge(
  adapter: HarnessAdapter,
  flags: BridgeFlags,
  context: CommandContext,
): Promise<void> {
  const target = targetOf(adapter, flags, context);
  try {
    if (flags.undo) await withClaim(target, () => runUndo(target, context));
    else if (flags.dryRun) await runDry(target, flags, context);
    else await withClaim(target, () => runWrite(target, flags, context));
  } catch (error) {
    if (error instanceof SettingsFileError) throw new CliError(error.message, { cause: error });
    if (error instanceof UnreadableSettings)
      throw new CliError(`${target.path} cannot be read: ${error.message} It was not changed.`, {
        cause: error,
      });
    throw error;
  }
}

/** Two bridges would undo each other's changes, so one settings file has one bridge. */
async function withClaim(target: BridgeTarget, run: () => Promise<void>): Promise<void> {
  let lock: Lock | undefined;
  if (target.adapter.control !== "none") {
    const { folder } = await readSettings(target.adapter, target.path, target.home).catch(
      (error: unknown) => {
        if (error instanceof UnreadableSettings || error instanceof SettingsFileError)
          return { folder: undefined };
        throw error;
      },
    );
    if (folder !== undefined) lock = await claim(folder);
  }
  try {
    await run();
  } finally {
    await lock?.release();
  }
}

async function claim(folder: string): Promise<Lock> {
  await requireSafeFolder(folder);
  try {
    return await lockFile(`${folder}/bridge`);
  } catch (error) {
    if (!(error instanceof GuardError) || error.code !== "store_locked") throw error;
    throw new CliError("Another bridge holds this settings file.", { hint: error.message, cause: error });
  }
}

async function runDry(target: BridgeTarget, flags: BridgeFlags, context: CommandContext): Promise<void> {
  const { adapter } = target;
  if (adapter.control === "none") throw unsupported(adapter);
  const reader = { harness: instanceOf(adapter, flags), model: flags.model };
  const policy = await fetchPolicy(await connect(flags, context.env), reader);
  if (policy.generation === 0) {
    context.out.write("The project has no policy, so nothing would change.\n");
    return;
  }
  const lines = await dryRun(target, policy, context.now());
  context.out.write(`${lines.map(printable).join("\n")}\n`);
}

const unsupported = ({ name, instead }: HarnessAdapter) =>
  new CliError(`${name} has no setting for its line, so the bridge cannot set one.`, {
    ...(instead !== undefined && { hint: instead }),
  });

async function runUndo(target: BridgeTarget, { out }: CommandContext): Promise<void> {
  const { adapter, path, home } = target;
  if (adapter.control === "none") throw unsupported(adapter);
  const hook = await removeHook(target);
  const { folder, name } = followedPolicy(home, adapter.family);
  await rm(join(folder, name), { force: true });
  const result = await undo(adapter, await readSettings(adapter, path, home));
  if (result === undefined && !hook) {
    out.write(`The bridge changed nothing in ${printable(path)}.\n`);
    return;
  }
  if (hook) out.write("Removed the SessionStart hook.\n");
  for (const { path: key, value } of result?.restored ?? [])
    out.write(
      `${printable(
        value === undefined
          ? `Removed ${pathText({ path: key })}.`
          : `Put back ${pathText({ path: key })}: ${JSON.stringify(value)}.`,
      )}\n`,
    );
  for (const { path: key, found, written } of result?.kept ?? [])
    out.write(
      `${printable(
        `Kept ${pathText({ path: key })}: somebody changed it from ${JSON.stringify(written)} to ${JSON.stringify(found) ?? "nothing"} since.`,
      )}\n`,
    );
  if (result?.removed) out.write(`Removed ${printable(path)}, which the bridge had created.\n`);
}

async function runWrite(target: BridgeTarget, flags: BridgeFlags, context: CommandContext): Promise<void> {
  const { adapter } = target;
  const connection = await connect(flags, context.env);
  // Every user must be able to read a folder that the bridge makes.
  if (target.managed) process.umask(0o022);
  else if (adapter.hook && (await wantsHook(flags, context))) {
    if (await installHook(target)) context.err.write("Installed the SessionStart hook.\n");
  }
  let trouble: string | undefined;
  const options: FollowOptions = {
    harness: instanceOf(adapter, flags),
    now: context.now,
    onReport: (report, { generation }) => {
      trouble = undefined;
      for (const line of reportLines(adapter, report, generation)) context.out.write(`${printable(line)}\n`);
    },
    onTrouble: (message) => {
      if (message !== trouble) context.err.write(`${printable(message)} Retrying.\n`);
      trouble = message;
    },
  };
  if (flags.once) {
    const report = await bridgeOnce(connection, target, options);
    if (report === undefined) context.out.write("The project has no policy, so nothing was changed.\n");
    if (report?.status === "rejected") process.exitCode = 1;
    return;
  }
  context.err.write(`Bridging ${adapter.name} as ${printable(options.harness)}. Press Ctrl+C to stop.\n`);
  await bridgeAlways(connection, target, options, context.untilStopped());
}

async function wantsHook({ hook, once }: BridgeFlags, { ask }: CommandContext): Promise<boolean> {
  if (hook !== undefined) return hook;
  if (ask === undefined || once) return false;
  const answer = await ask(
    "Install a SessionStart hook in Claude Code's settings? It proves that new sessions have the line. [y/N] ",
  );
  return /^y(es)?$/i.test(answer.trim());
}

function reportLines(adapter: HarnessAdapter, report: BridgeReport, generation: number): string[] {
  const line = report.line === undefined ? "" : `, line at ${lineText(report.line)}`;
  const wrote = report.written.length === 0 ? "" : `, wrote ${report.written.join(", ")}`;
  return [
    `Policy ${generation}: ${report.status}${wrote}${line}`,
    ...(report.message === undefined ? [] : [`  ${report.message}`]),
    ...(report.differences ?? []).map((difference) => `  ${differenceText(adapter, difference)}`),
  ];
}

async function readStdin(): Promise<string> {
  if (process.stdin.isTTY) return "";
  let text = "";
  for await (const chunk of process.stdin) {
    text += String(chunk);
    if (text.length > 64 * 1024) break;
  }
  return text;
}
