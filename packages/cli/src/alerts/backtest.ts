import { readFile } from "node:fs/promises";
import { AlertBacktest, AlertRuleList } from "@plimsoll/protocol/api";
import { yamlExcess } from "@plimsoll/protocol/policy";
import type { Command } from "commander";
import { Lexer, parse } from "yaml";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, wholeNumber, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { ago, number, plural } from "../number-format.ts";
import { writeTable } from "../table.ts";
import { printableJson, type Terminal } from "../terminal.ts";

const DAY_MS = 86_400_000;
/** Milliseconds to wait for the answer; the server stops sooner. */
const BACKTEST_MS = 60_000;
const MOST_LISTED = 20;

type BacktestFlags = ConnectionFlags & { days: number; json?: boolean };

export function addBacktestCommand(rules: Command, { out, now, env }: CommandContext): void {
  withConnection(rules.command("backtest"))
    .description("Show the notifications that a rule would have sent over recorded history")
    .argument("<name|file>", "a saved rule, or a YAML or JSON file with one rule")
    .option("--days <n>", "how far back", wholeNumber, 7)
    .option("--json", "print JSON")
    .action(async (which: string, flags: BacktestFlags) => {
      const client = createClient(await connect(flags, env), BACKTEST_MS);
      const to = now();
      const input = {
        rule: await findRule(client, which),
        from: new Date(to - flags.days * DAY_MS).toISOString(),
        to: new Date(to).toISOString(),
      };
      const result = await client.mutate("alerts.backtest", input, AlertBacktest);
      if (flags.json) out.write(`${printableJson(result)}\n`);
      else writeBacktest(out, result, flags.days, to);
    });
}

async function findRule(client: Client, which: string): Promise<unknown> {
  const { rules } = await client.query("alerts.rules.list", {}, AlertRuleList);
  const saved = rules.find(({ rule }) => rule.name === which);
  if (saved !== undefined) return saved.rule;
  const text = await readFile(which, "utf8").catch((cause: Error) => {
    throw new CliError(`There is no rule and no file named ${which}.`, { cause });
  });
  const excess = yamlExcess(new Lexer().lex(text));
  if (excess !== undefined) throw new CliError(`${which} cannot be read. ${excess}`);
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (cause) {
    throw new CliError(`${which} is not valid YAML: ${(cause as Error).message}`, { cause });
  }
}

function writeBacktest(out: Terminal, result: AlertBacktest, days: number, now: number): void {
  const { count, longest_ms, brief, examined, complete, firings } = result;
  const longest = count === 0 ? "" : `, longest ${number(Math.ceil(longest_ms / 60_000))} min`;
  out.write(
    `Would have fired ${plural(count, "time")} in ${plural(days, "day")}${longest} (${plural(examined.agents, "agent")}, ${plural(examined.turns, "turn")}).\n`,
  );
  if (brief > 0) out.write(`${brief} of ${count} ended by themselves within a minute.\n`);
  if (!complete) out.write("The history is too long to be examined in full: older agents are left out.\n");
  if (firings.length === 0) return;
  const rows = firings.slice(0, MOST_LISTED).map(({ fired_at, ended_at, harness, session, agent, why }) => {
    const ms = (ended_at === null ? now : Date.parse(ended_at)) - Date.parse(fired_at);
    return {
      cells: [
        ago(now - Date.parse(fired_at)),
        `${number(Math.ceil(ms / 60_000))} min`,
        `${harness} ${session} ${agent}`,
        why,
      ],
    };
  });
  writeTable(out, ["fired", "lasted", "about", "why"], rows);
}
