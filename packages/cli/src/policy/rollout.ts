import {
  type ChangeRolloutCall,
  type PolicyHarnessList,
  RolloutAnswer,
  type RolloutView,
} from "@plimsoll/protocol/api";
import { RolloutPlan, type RolloutWait } from "@plimsoll/protocol/policy";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { ahead, number, percent, plural } from "../number-format.ts";
import { printable, printableJson } from "../terminal.ts";

export interface RolloutFlags {
  canary?: string;
  linear?: number;
  bake?: number;
  haltRejections?: number;
  haltRise?: number | null;
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** The options of `policy set` that say how the version reaches the harnesses. */
export function addRolloutOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--canary <share or names>",
        "first 10%, or phantom@vm-3,phantom@vm-4, then the rest",
      ).conflicts("linear"),
    )
    .option("--linear <share>", "so many more harnesses in each step, such as 25%", shareOf)
    .option("--bake <time>", "how long each step lasts at least: 30s, 10m, 2h, 1d (default: 10m)", secondsOf)
    .option("--halt-rejections <n>", "halt when so many harnesses reject it (default: 1)", Number)
    .option(
      "--halt-rise <factor>",
      "halt at more than so many times as many restarts or crossings, or off (default: 2)",
      (text) => (text === "off" ? null : Number(text)),
    );
}

/**
 * The plan that the options ask for; undefined for all harnesses at once.
 * @throws CliError
 */
export function rolloutPlanOf(flags: RolloutFlags): RolloutPlan | undefined {
  const { canary, linear, bake, haltRejections, haltRise } = flags;
  if (canary === undefined && linear === undefined) {
    if (bake === undefined && haltRejections === undefined && haltRise === undefined) return undefined;
    throw new CliError("Without --canary or --linear, all harnesses get the policy at once.", {
      hint: "Add --canary 10%, for example.",
    });
  }
  const parsed = RolloutPlan.safeParse({
    ...(canary === undefined ? { strategy: "linear", share: linear } : canariesOf(canary)),
    bake_s: bake ?? 600,
    halt: {
      ...(haltRejections !== undefined && { rejections: haltRejections }),
      ...(haltRise !== undefined && { rise: haltRise }),
    },
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CliError(`The rollout makes no sense: ${issue?.path.join(".")}: ${issue?.message}.`);
}

function canariesOf(text: string) {
  if (/^[\d.]+%$/.test(text)) return { strategy: "canary", share: shareOf(text) };
  const harnesses = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return { strategy: "canary", share: 0, harnesses };
}

function shareOf(text: string): number {
  const value = /^([\d.]+)%$/.exec(text)?.[1];
  if (value === undefined || Number.isNaN(Number(value)))
    throw new InvalidArgumentError("Give a share such as 25%.");
  return Number(value) / 100;
}

function secondsOf(text: string): number {
  const [, value, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (value === undefined) throw new InvalidArgumentError("Give a time such as 30s, 10m, 2h or 1d.");
  return Number(value) * SECONDS[unit as keyof typeof SECONDS];
}

type ActionFlags = ConnectionFlags & { json?: boolean } & Partial<Record<keyof typeof ACTIONS, boolean>>;

/** What each option asks for. */
const ACTIONS = {
  advance: "advance",
  halt: "halt",
  resume: "resume",
  nextSet: "next_set",
} as const satisfies Record<string, ChangeRolloutCall["action"]>;

export function addRolloutCommand(policy: Command, context: CommandContext): void {
  withConnection(policy.command("rollout"))
    .description("Show the rollout of the policy, or change it")
    .addOption(
      new Option("--advance", "go on with the next step now").conflicts(["halt", "resume", "nextSet"]),
    )
    .addOption(
      new Option("--halt", "stop it; harnesses that have the policy keep it").conflicts([
        "resume",
        "nextSet",
      ]),
    )
    .addOption(new Option("--resume", "go on after a halt").conflicts("nextSet"))
    .option("--next-set", "offer the policy to as many harnesses again in this step")
    .option("--json", "print JSON")
    .action(async (flags: ActionFlags) => {
      const client = createClient(await connect(flags, context.env));
      const option = (Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]).find((one) => flags[one]);
      const action = option && ACTIONS[option];
      const seen = await readRollout(client);
      const rollout = action === undefined ? seen : await change(client, seen, action);
      if (flags.json) context.out.write(`${printableJson({ rollout })}\n`);
      else if (rollout === null) context.out.write("No policy has been rolled out in steps.\n");
      else context.out.write(`${rolloutLines(rollout, context.now()).join("\n")}\n`);
    });
}

export const readRollout = async (client: Client): Promise<RolloutView | null> =>
  (await client.query("policies.rollout", undefined, RolloutAnswer)).rollout;

async function change(
  client: Client,
  seen: RolloutView | null,
  action: ChangeRolloutCall["action"],
): Promise<RolloutView | null> {
  if (seen === null) throw new CliError("No policy has been rolled out in steps.");
  const { generation, stage } = seen;
  return (await client.mutate("policies.changeRollout", { generation, stage, action }, RolloutAnswer))
    .rollout;
}

const HALTED = {
  rejected: "a harness rejected it",
  more_restarts: "harnesses restart more often since they run it",
  more_crossings: "harnesses cross their other thresholds more often since they run it",
  asked: "somebody halted it",
} as const satisfies Record<NonNullable<RolloutView["halt_reason"]>, string>;

/** What a step waits for that time alone does not bring. */
const WAITS = {
  application: "The next step waits until a harness of this step has applied it.",
  harness: "The next step waits until a harness of this step is connected.",
  next_set:
    "All harnesses of this step rejected it, so nobody is left to apply it. Roll it back, or go on with --next-set.",
} as const satisfies Record<Exclude<RolloutWait, "bake">, string>;

/** How far a rollout is. `now` in epoch ms. */
export function rolloutLines(rollout: RolloutView, now: number): string[] {
  const { generation, state, stage, stages, applied, offered, connected, rejected, restarts, crossings } =
    rollout;
  const { share, harnesses } = stages[stage]!;
  const whom = [
    ...(share >= 1 ? ["all harnesses"] : share > 0 ? [`${percent(share)} of the harnesses`] : []),
    ...harnesses.map(printable),
  ].join(", ");
  return [
    `Generation ${generation}: ${state}${rollout.halt_reason === null ? "" : `, because ${HALTED[rollout.halt_reason]}`}`,
    `Step ${stage + 1} of ${stages.length}: offered to ${whom}; ${number(offered)} of ${plural(connected, "connected harness", "connected harnesses")}, ${number(applied)} of them run${applied === 1 ? "s" : ""} it`,
    ...(rollout.waits_for === null || rollout.waits_for === "bake" ? [] : [WAITS[rollout.waits_for]]),
    ...(rollout.next_at === null ? [] : [`Next step ${ahead(Date.parse(rollout.next_at) - now)}`]),
    ...rejected.map(
      ({ instance, message, code }) =>
        `${printable(instance)} rejected it: ${printable(message ?? code ?? "without a reason")}`,
    ),
    ...(restarts.since.turns > 0
      ? [
          `Since they run it, in ${plural(restarts.since.turns, "turn")}: ${plural(restarts.since.events, "restart")}, ${plural(crossings.since.events, "crossing")}; before, in ${number(restarts.before.turns)}: ${number(restarts.before.events)}, ${number(crossings.before.events)}`,
        ]
      : []),
  ];
}

/** Whether to show a rollout beside the harnesses. */
export const isUnderWay = (rollout: RolloutView | null): rollout is RolloutView =>
  rollout !== null && (rollout.state === "running" || rollout.state === "halted");

export interface WatchedPolicy extends PolicyHarnessList {
  rollout: RolloutView | null;
}
