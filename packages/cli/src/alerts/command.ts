import { readFile } from "node:fs/promises";
import { ALERT_PRESET_NAMES, type AlertMatcher, readMatcher } from "@plimsoll/protocol/alerts";
import {
  AcknowledgedAlerts,
  AlertPage,
  AlertRuleExport,
  AlertRuleImport,
  AlertRuleList,
  AlertRuleView,
  AlertSilenceList,
  AlertSilenceView,
} from "@plimsoll/protocol/api";
import { type Command, Option } from "commander";
import { z } from "zod";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, durationOf, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { plural } from "../number-format.ts";
import { printable, printableJson } from "../terminal.ts";
import { addBacktestCommand } from "./backtest.ts";
import { addEndpointCommands } from "./endpoints.ts";
import { idOf } from "./id-of.ts";
import { writeAlerts, writeRules, writeSilences } from "./write-alerts.ts";

/** Exit code of `plimsoll alerts` if an alert fires. */
const FIRING = 2;
const NO_INPUT = z.object({});

const EXAMPLES = `
Examples:
  npx plimsoll alerts                                       show what fires
  npx plimsoll alerts rules preset past_line                switch on a preset
  npx plimsoll alerts rules backtest "Stays past its line"  show the notifications it would have sent
  npx plimsoll alerts rules export > alerts.yaml            write all rules to a file
  npx plimsoll alerts rules import alerts.yaml --replace    make the rules those of the file
  npx plimsoll alerts silence harness=phantom@vm-3 --for 2h -m "restarting it"
  npx plimsoll alerts ack 0198f2                            acknowledge an alert
  npx plimsoll alerts test ops                              send a test to the endpoint "ops"

Exit code: 2 if an alert fires, 0 if none does, 1 on failure.`;

type Flags = ConnectionFlags & { json?: boolean };

export function addAlertCommands(program: Command, context: CommandContext): void {
  const { out } = context;
  const open = async (flags: ConnectionFlags) => createClient(await connect(flags, context.env));
  const alerts = withConnection(program.command("alerts"))
    .description("Show the alerts that fire; exit code 2 if there are any")
    .option("--ended", "show those that have ended instead")
    .option("--json", "print JSON")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags & { ended?: boolean }) => {
      const client = await open(flags);
      const state = flags.ended ? "ended" : "open";
      const page = await client.query("alerts.list", { state }, AlertPage);
      if (flags.json) out.write(`${printableJson(page)}\n`);
      else writeAlerts(out, page, { ended: flags.ended === true, now: context.now() });
      if (page.firing > 0) process.exitCode = FIRING;
    });
  addRuleCommands(alerts, context, open);
  addSilenceCommands(alerts, context, open);
  addEndpointCommands(alerts, context);
  withConnection(alerts.command("ack"))
    .description("Acknowledge alerts that fire: they are not repeated")
    .argument("<id...>", "ids, or their unambiguous beginnings")
    .action(async (given: string[], flags: ConnectionFlags) => {
      const client = await open(flags);
      const { items } = await client.query("alerts.list", { limit: 500 }, AlertPage);
      const ids = given.map((id) => idOf(items, id, "alert that fires"));
      const { acknowledged } = await client.mutate("alerts.acknowledge", { ids }, AcknowledgedAlerts);
      out.write(`Acknowledged ${plural(acknowledged, "alert")}.\n`);
    });
}

type Open = (flags: ConnectionFlags) => Promise<Client>;

function addRuleCommands(alerts: Command, context: CommandContext, open: Open): void {
  const { out, now } = context;
  const rules = withConnection(alerts.command("rules"))
    .description("List the alert rules")
    .option("--json", "print JSON")
    .action(async (flags: Flags) => {
      const list = await (await open(flags)).query("alerts.rules.list", {}, AlertRuleList);
      if (flags.json) out.write(`${printableJson(list)}\n`);
      else writeRules(out, list.rules, now());
    });
  withConnection(rules.command("preset"))
    .description(`Create a rule from a preset: ${ALERT_PRESET_NAMES.join(", ")}`)
    .argument("<name>")
    .action(async (preset: string, flags: ConnectionFlags) => {
      if (!(ALERT_PRESET_NAMES as readonly string[]).includes(preset))
        throw new CliError(`There is no preset ${preset}.`, {
          hint: `Presets: ${ALERT_PRESET_NAMES.join(", ")}`,
        });
      const input = { preset, endpoints: [] };
      const { rule } = await (await open(flags)).mutate("alerts.rules.createPreset", input, AlertRuleView);
      out.write(`Created the rule "${printable(rule.name)}".\n`);
    });
  withConnection(rules.command("export"))
    .description("Print all rules as YAML")
    .action(async (flags: ConnectionFlags) => {
      const { yaml } = await (await open(flags)).query("alerts.rules.export", {}, AlertRuleExport);
      out.write(yaml);
    });
  withConnection(rules.command("import"))
    .description("Save the rules of a YAML or JSON file; a rule replaces the saved one of the same name")
    .argument("<file>")
    .option("--replace", "delete the saved rules that the file does not name")
    .action(async (file: string, flags: ConnectionFlags & { replace?: boolean }) => {
      const yaml = await readFile(file, "utf8").catch((cause: Error) => {
        throw new CliError(`${file} cannot be read: ${cause.message}`, {
          hint: "Give a YAML or JSON file.",
          cause,
        });
      });
      const input = { yaml, replace: flags.replace === true };
      const result = await (await open(flags)).mutate("alerts.rules.import", input, AlertRuleImport);
      const { created, changed, deleted, unchanged } = result;
      out.write(`Created ${created}, changed ${changed}, deleted ${deleted}, unchanged ${unchanged}.\n`);
    });
  for (const enabled of [true, false]) {
    withConnection(rules.command(enabled ? "on" : "off"))
      .description(enabled ? "Switch a rule on" : "Switch a rule off; its alerts end")
      .argument("<name|id>")
      .action(async (which: string, flags: ConnectionFlags) => {
        const client = await open(flags);
        const { id, version } = await ruleOf(client, which);
        await client.mutate("alerts.rules.switch", { id, expected: version, enabled }, AlertRuleView);
        out.write(`The rule is switched ${enabled ? "on" : "off"}.\n`);
      });
  }
  addBacktestCommand(rules, context);
  withConnection(rules.command("delete"))
    .description("Delete a rule; its alerts end")
    .argument("<name|id>")
    .action(async (which: string, flags: ConnectionFlags) => {
      const client = await open(flags);
      const { id } = await ruleOf(client, which);
      await client.mutate("alerts.rules.remove", { id }, NO_INPUT);
      out.write("The rule is deleted.\n");
    });
}

function addSilenceCommands(alerts: Command, { out, now }: CommandContext, open: Open): void {
  withConnection(alerts.command("silence"))
    .description("Silence alerts, list the silences, or end one")
    .argument("[matcher...]", "label=value or label!=value; * matches any characters")
    .addOption(
      new Option("--for <time>", "how long: 30m, 2h, 1d").argParser(durationOf).default(3_600_000, "1h"),
    )
    .option("-m, --message <text>", "why")
    .addOption(new Option("--end <id>", "end a silence").conflicts("message"))
    .option("--json", "print JSON")
    .action(async (given: string[], flags: Flags & { for: number; message?: string; end?: string }) => {
      const client = await open(flags);
      if (flags.end !== undefined) return endSilence(client, out, flags.end);
      if (given.length === 0) {
        const list = await client.query("alerts.silences.list", {}, AlertSilenceList);
        if (flags.json) out.write(`${printableJson(list)}\n`);
        else writeSilences(out, list.silences, now());
        return;
      }
      if (flags.message === undefined)
        throw new CliError("A silence needs a reason.", { hint: 'Add -m "restarting it", for example.' });
      const input = {
        matchers: given.map(matcherOf),
        comment: flags.message,
        ends_at: new Date(now() + flags.for).toISOString(),
      };
      const { id } = await client.mutate("alerts.silences.create", input, AlertSilenceView);
      out.write(`Silenced until ${input.ends_at}. End it with: npx plimsoll alerts silence --end ${id}\n`);
    });
}

async function endSilence(client: Client, out: CommandContext["out"], given: string): Promise<void> {
  const { silences } = await client.query("alerts.silences.list", {}, AlertSilenceList);
  const id = idOf(
    silences.filter(({ state }) => state !== "ended"),
    given,
    "silence that is not over",
  );
  await client.mutate("alerts.silences.end", { id }, AlertSilenceView);
  out.write("The silence has ended.\n");
}

/** `label=value` or `label!=value`. */
function matcherOf(text: string): AlertMatcher {
  const matcher = readMatcher(text);
  if (matcher === undefined)
    throw new CliError(`${text} is no matcher.`, {
      hint: "Write label=value, such as harness=phantom@vm-3.",
    });
  return matcher;
}

async function ruleOf(client: Client, which: string): Promise<AlertRuleView> {
  const { rules } = await client.query("alerts.rules.list", {}, AlertRuleList);
  const named = rules.find(({ rule }) => rule.name === which);
  if (named !== undefined) return named;
  const id = idOf(rules, which, "rule");
  return rules.find((rule) => rule.id === id)!;
}
