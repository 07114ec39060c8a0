import {
  PolicyHarnessList,
  type PolicyHarnessView,
  PolicyVersionDetail,
  PolicyVersionPage,
  type PolicyVersionView,
  WholePolicy,
} from "@plimsoll/protocol/api";
import { type PolicyBody, type PolicySettings, resolveForHarness } from "@plimsoll/protocol/policy";
import { type Command, Option } from "commander";
import { createTwoFilesPatch } from "diff";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, wholeNumber, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { ago, plural } from "../number-format.ts";
import { linesOf, type ScreenText } from "../scroll.ts";
import { tableLines, writeTable } from "../table.ts";
import { printable, printableJson, type Terminal } from "../terminal.ts";
import { watchScreen } from "../watch-screen.ts";
import { addExportCommand } from "./export.ts";
import { policyYaml, readPolicyFile } from "./policy-file.ts";
import { addReplayCommand } from "./replay.ts";
import {
  addRolloutCommand,
  addRolloutOptions,
  isUnderWay,
  type RolloutFlags,
  readRollout,
  rolloutLines,
  rolloutPlanOf,
  type WatchedPolicy,
} from "./rollout.ts";

type Flags = ConnectionFlags & { json?: boolean };
type SetFlags = Flags & RolloutFlags & { reason: string; expect?: number; from: "now" | "history" };

const EXAMPLES = `
Examples:
  npx plimsoll policy get > policy.yaml                     write the policy to a file
  npx plimsoll policy diff policy.yaml                      compare a file with it
  npx plimsoll policy set policy.yaml -m "earlier masking"  save the file as a new version
  npx plimsoll policy set policy.yaml -m "a trial" --canary 10%
                                                        try it on some harnesses first
  npx plimsoll policy replay --file policy.yaml             show what it would have done
  npx plimsoll policy get --harness phantom@vm-3            show what one harness is offered
  npx plimsoll policy export --window 1000000               print managed settings for Claude Code
  npx plimsoll policy watch                                 show how far each harness is`;

export function addPolicyCommands(program: Command, context: CommandContext): void {
  const policy = program
    .command("policy")
    .description("Show, change and roll back the policy, and follow the harnesses")
    .addHelpText("after", EXAMPLES);
  const open = async (flags: ConnectionFlags) => createClient(await connect(flags, context.env));

  withConnection(policy.command("get"))
    .description("Print the policy as YAML")
    .option("--harness <instance>", "only the settings that this harness is offered")
    .option("--model <name>", "with --harness: also layers for this model")
    .option("--generation <n>", "an earlier version", wholeNumber)
    .option("--json", "print JSON")
    .action(async (flags: Flags & { harness?: string; model?: string; generation?: number }) => {
      const whole = await read(await open(flags), flags.generation);
      if (flags.harness === undefined) {
        context.out.write(
          flags.json ? `${printableJson(whole)}\n` : printableLines(whole.text ?? policyYaml(whole.policy)),
        );
        return;
      }
      const { settings } = resolveForHarness(
        whole.policy,
        { harness: flags.harness, model: flags.model },
        {},
      );
      writeSettings(settings, flags.json === true, context.out);
    });

  withConnection(policy.command("validate"))
    .description("Check a file; exit code 1 if it has mistakes. Needs no server")
    .argument("<file>", "YAML or JSON file, or - for standard input")
    .action(async (file: string) => {
      await readPolicyFile(file);
      context.out.write("The policy is valid.\n");
    });

  withConnection(policy.command("diff"))
    .description("Show what a file would change")
    .argument("<file>", "YAML or JSON file, or - for standard input")
    .option("--generation <n>", "compare with an earlier version", wholeNumber)
    .action(async (file: string, flags: Flags & { generation?: number }) => {
      const { body } = await readPolicyFile(file);
      const whole = await read(await open(flags), flags.generation);
      context.out.write(printableLines(patchOf(whole, body, file)));
    });

  addRolloutOptions(withConnection(policy.command("set")))
    .description("Save a file as a new version of the policy")
    .argument("<file>", "YAML or JSON file, or - for standard input")
    .requiredOption("-m, --reason <text>", "why; shown in the history", reasonOf)
    .option("--expect <generation>", "refuse if this is not the newest version", Number)
    .addOption(
      new Option("--from <start>", "history also judges what is recorded")
        .choices(["now", "history"])
        .default("now"),
    )
    .action(async (file: string, flags: SetFlags) => {
      const { text } = await readPolicyFile(file);
      const rollout = rolloutPlanOf(flags);
      const client = await open(flags);
      const expected = flags.expect ?? (await read(client)).generation;
      const saved = await client.mutate(
        "policies.save",
        { policy: text, expected, reason: flags.reason, from: flags.from, rollout },
        WholePolicy,
      );
      context.out.write(`Saved as generation ${saved.generation}.\n`);
      if (rollout === undefined) return;
      const begun = await readRollout(client);
      if (begun !== null)
        context.out.write(
          `It is offered to ${begun.offered} of ${plural(begun.connected, "connected harness", "connected harnesses")} first.\n`,
        );
      context.out.write("Follow its rollout with: npx plimsoll policy rollout\n");
    });

  addRolloutCommand(policy, context);
  addReplayCommand(policy, context);
  addExportCommand(policy, context, async (flags) => (await read(await open(flags))).policy);

  withConnection(policy.command("history"))
    .description("List the versions of the policy, newest first")
    .option("--limit <n>", "number of versions, at most 100", wholeNumber, 20)
    .option("--json", "print JSON")
    .action(async (flags: Flags & { limit: number }) => {
      const { items } = await (await open(flags)).query(
        "policies.versions",
        { limit: Math.min(100, flags.limit) },
        PolicyVersionPage,
      );
      if (flags.json) context.out.write(`${printableJson({ versions: items })}\n`);
      else writeVersions(items, context.out, context.now());
    });

  withConnection(policy.command("rollback"))
    .description("Save an earlier version again, as a new one")
    .argument("<generation>", "the version to return to", wholeNumber)
    .requiredOption("-m, --reason <text>", "why; shown in the history", reasonOf)
    .action(async (generation: number, flags: Flags & { reason: string }) => {
      const client = await open(flags);
      const { generation: expected } = await read(client);
      const saved = await client.mutate(
        "policies.rollback",
        { generation, expected, reason: flags.reason },
        WholePolicy,
      );
      context.out.write(`Generation ${generation} is saved again as generation ${saved.generation}.\n`);
    });

  withConnection(policy.command("watch"))
    .description("Show how far each harness is with its policy, kept up to date")
    .option("--once", "print it once and exit")
    .option("--json", "print JSON once and exit")
    .action(async (flags: Flags & { once?: boolean }) => {
      const connection = await connect(flags, context.env);
      const client = createClient(connection);
      const readAll = async (): Promise<WatchedPolicy> => {
        const [list, rollout] = await Promise.all([
          client.query("policies.harnesses", undefined, PolicyHarnessList),
          readRollout(client),
        ]);
        return { ...list, rollout };
      };
      const draw = ({ harnesses, rollout }: WatchedPolicy) => ({
        summary: isUnderWay(rollout) ? rolloutLines(rollout, context.now()) : [],
        ...harnessTable(harnesses, context.out),
      });
      if (flags.json) context.out.write(`${printableJson(await readAll())}\n`);
      else if (flags.once) context.out.write(`${linesOf(draw(await readAll())).join("\n")}\n`);
      else
        await watchScreen(connection, context.out, {
          read: readAll,
          draw,
          now: context.now,
          signal: context.untilStopped(),
        });
    });
}

async function read(client: Client, generation?: number): Promise<WholePolicy> {
  if (generation === undefined) return client.query("policies.get", undefined, WholePolicy);
  return client.query("policies.version", { generation }, PolicyVersionDetail);
}

/** Without a text of its own, the option takes what follows. */
function reasonOf(text: string): string {
  if (text.trim() === "" || text.startsWith("-"))
    throw new CliError("The reason is missing.", { hint: 'Say why, such as -m "earlier masking for Opus".' });
  return text;
}

function writeSettings(settings: PolicySettings, json: boolean, out: Terminal): void {
  out.write(json ? `${printableJson(settings)}\n` : printableLines(policyYaml({ settings, layers: [] })));
}

/** Keeps line ends, which `printable` would show as characters. */
const printableLines = (text: string) => text.split("\n").map(printable).join("\n");

function patchOf({ generation, policy }: WholePolicy, body: PolicyBody, file: string): string {
  const [before, after] = [policyYaml(policy), policyYaml(body)];
  if (before === after) return "No difference.\n";
  return createTwoFilesPatch(
    `generation ${generation}`,
    file === "-" ? "standard input" : file,
    before,
    after,
  );
}

function writeVersions(versions: readonly PolicyVersionView[], out: Terminal, now: number): void {
  if (versions.length === 0) {
    out.write('No policy is saved yet. Save one with: npx plimsoll policy set policy.yaml -m "why"\n');
    return;
  }
  const rows = versions.map(({ generation, created_at, actor, actor_name, reason, restores }) => ({
    cells: [
      String(generation),
      ago(now - Date.parse(created_at)),
      actor_name ?? (actor === "local" ? "command line" : actor),
      restores === null ? reason : `${reason} (repeats ${restores})`,
    ],
    warn: false,
  }));
  writeTable(out, ["generation", "saved", "by", "reason"], rows);
}

function harnessTable(harnesses: readonly PolicyHarnessView[], out: Terminal): Omit<ScreenText, "summary"> {
  if (harnesses.length === 0) return { head: "No harness has sent events yet.", rows: [] };
  const rows = harnesses.map((harness) => ({
    cells: [
      harness.instance,
      harness.online ? "online" : "offline",
      harness.state.replaceAll("_", " "),
      harness.running === null ? "" : String(harness.running),
      harness.desired.generation === 0 ? "" : String(harness.desired.generation),
      detailOf(harness),
    ],
    warn: harness.state === "rejected" || harness.clock !== null || harness.not_effective !== null,
  }));
  const [head, ...lines] = tableLines(out, ["harness", "", "state", "runs", "offered", "detail"], rows);
  return { head: head!, rows: lines };
}

function detailOf({ said, not_effective, clock }: PolicyHarnessView): string {
  if (clock !== null) return clock;
  if (not_effective !== null)
    return `not effective: compacts at ${Math.round(not_effective.median * 100)}% of its line`;
  const differences = said?.differences.map(({ path, code, by }) => `${path} ${by ?? code}`) ?? [];
  return said?.message ?? differences.join(", ");
}
