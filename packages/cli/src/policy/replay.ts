import { type ReplayFigure, type ReplayResult, ReplayView } from "@plimsoll/protocol/api";
import { type PolicyBody, replayErrors, THRESHOLD_NAMES } from "@plimsoll/protocol/policy";
import { type Command, InvalidArgumentError } from "commander";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { number, plural, tokens } from "../number-format.ts";
import { sleep } from "../sleep.ts";
import { type TableRow, writeTable } from "../table.ts";
import { printableJson, type Terminal } from "../terminal.ts";
import { readPolicyFile } from "./policy-file.ts";

const POLL_MS = 200;
const DAY_MS = 86_400_000;
/** Exit code of a command that Ctrl+C ended. */
const INTERRUPTED = 130;

interface ReplayFlags extends ConnectionFlags {
  file: string;
  from?: Date;
  to?: Date;
  harness?: string;
  family?: string;
  model?: string;
  session?: string;
  json?: boolean;
}

/** Adds `plimsoll policy replay`. */
export function addReplayCommand(policy: Command, context: CommandContext): void {
  withConnection(policy.command("replay"))
    .description("Show what a policy would have done to recorded turns; saves nothing")
    .requiredOption("-f, --file <path>", "YAML or JSON file, or - for standard input")
    .option("--from <time>", "start of the range, such as 2026-11-20 (default: 7 days ago)", instant)
    .option("--to <time>", "end of the range (default: now)", instant)
    .option("--harness <instance>", "only this harness instance")
    .option("--family <name>", "only this harness family, such as phantom")
    .option("--model <name>", "only agents that ran this model last")
    .option("--session <id>", "only this session")
    .option("--json", "print JSON")
    .action(async (flags: ReplayFlags) => {
      const { body: candidate } = await readPolicyFile(flags.file);
      const client = createClient(await connect(flags, context.env));
      const result = await replayOn(client, candidate, flags, context);
      if (flags.json) context.out.write(`${printableJson(result)}\n`);
      else writeResult(result, context.out);
    });
}

function instant(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new InvalidArgumentError("Give a date or a time, such as 2026-11-20 or 2026-11-20T10:00:00Z.");
  return time;
}

/** Runs a replay on the server to its end. Ctrl+C ends it there too. */
async function replayOn(
  client: Client,
  candidate: PolicyBody,
  { from, to, harness, family, model, session }: ReplayFlags,
  { err, now, untilStopped }: CommandContext,
): Promise<ReplayResult> {
  const signal = untilStopped();
  const until = to ?? new Date(now());
  const range = {
    from: (from ?? new Date(until.getTime() - 7 * DAY_MS)).toISOString(),
    to: until.toISOString(),
  };
  const call = { candidate, ...range, harness, family, model, session };
  let view = await client.mutate("replays.start", call, ReplayView);
  const { id } = view;
  const progress = progressOn(err);
  try {
    while (view.state === "running" && !signal.aborted) {
      progress.show(view);
      await sleep(POLL_MS, signal);
      if (!signal.aborted) view = await client.query("replays.status", { id }, ReplayView);
    }
    if (signal.aborted && view.state === "running")
      view = await client.mutate("replays.cancel", { id }, ReplayView);
  } catch (error) {
    // Otherwise the server works on for nobody.
    await client.mutate("replays.cancel", { id }, ReplayView).catch(() => {});
    throw error;
  } finally {
    progress.end();
  }
  if (view.result !== null) return view.result;
  if (view.state === "cancelled") throw new CliError("The replay was cancelled.", { exitCode: INTERRUPTED });
  throw new CliError(`The replay failed: ${view.error ?? "the server gave no reason"}`);
}

/** Progress on a terminal, in one line that is removed at the end. */
function progressOn(terminal: Terminal): { show(view: ReplayView): void; end(): void } {
  const write = (text: string) => {
    if (terminal.isTty) terminal.write(`\r${text}\u001b[K`);
  };
  return {
    show: ({ done, total }) =>
      write(total === null ? "Counting turns…" : `Replaying: ${number(done)} of ${plural(total, "turn")}`),
    end: () => write(""),
  };
}

function writeResult(result: ReplayResult, out: Terminal): void {
  const { runs, sessions, agents, turns, ran, affected_sessions: affected } = result;
  if (turns === 0) {
    out.write("No recorded turns in this range. Choose another range with --from and --to.\n");
    return;
  }
  const isUnrun = ran.agents === 0;
  const change = isUnrun ? "" : `; the candidate changes ${number(affected)} of them`;
  out.write(
    `${plural(turns, "turn")} of ${plural(agents, "agent")} in ${plural(sessions, "session")}${change}.\n${errorText(result)}\n\n`,
  );
  const all = [runs.happened, runs.current, runs.candidate];
  const row = (name: string, cellOf: (run: (typeof all)[number]) => string): TableRow => ({
    cells: [name, ...all.map((run) => (isUnrun && run === runs.current ? "not run" : cellOf(run)))],
  });
  const thresholds = THRESHOLD_NAMES.filter((name) => all.some((run) => run.crossings[name].count > 0));
  const current = result.generation === 0 ? "current" : `current (${result.generation})`;
  writeTable(
    out,
    ["", "happened", current, "candidate"],
    [
      ...thresholds.map((name) => row(`${name} crossed`, (run) => figureText(run.crossings[name]))),
      row("maskings", (run) => figureText(run.maskings)),
      row("compactions", (run) => figureText(run.compactions)),
      row("sub-ticks", (run) => figureText(run.subticks)),
      row("restarts", (run) => figureText(run.restarts)),
      row("turns above the line", (run) => figureText(run.turns_above)),
      row("kept out of context", (run) => signedTokens(run.kept_out_tokens)),
      row("highest level", (run) => tokens(run.peak_tokens)),
    ],
  );
  writeAssumptions(result, out);
}

/** How far the replay may be off, by the agents of the project that ran a policy. */
function errorText({ ran }: ReplayResult): string {
  if (ran.agents === 0)
    return "None of these agents acknowledged a policy before its first turn: the current policy is not replayed, and how far this replay is off is unknown.";
  const errors = replayErrors(ran);
  const of = `${plural(ran.agents, "agent")} that ran a policy`;
  return errors.length === 0
    ? `In this project, ${of} never responded, and replay told none.`
    : `In this project, replay told ${errors.join(", ")}, in ${of}.`;
}

/** Such as `12 in 3 sessions`. */
const figureText = ({ count, sessions }: ReplayFigure) =>
  count === 0 ? "0" : `${number(count)} in ${plural(sessions, "session")}`;

const signedTokens = (value: number) => (value < 0 ? `-${tokens(-value)}` : tokens(value));

const SOURCES = {
  window: "measured",
  family: "measured in other windows",
  project: "measured in other families",
  assumed: "assumed, no history",
};
const LEFT = { compacted: "a compaction", subtick: "a sub-tick", restarted: "a restart" };

function writeAssumptions({ assumptions }: ReplayResult, out: Terminal): void {
  out.write("\nAssumptions:\n");
  const rows = assumptions.map(({ family, window_tokens: size, response, unit, value, n, source }) => ({
    cells: [
      family,
      size === null ? "unknown" : tokens(size),
      response === "masked" ? "masking frees, of added tokens" : `level after ${LEFT[response]}`,
      unit === "tokens" ? tokens(Math.round(value)) : `${Math.round(value * 100)}%`,
      n === 0 ? SOURCES[source] : `${SOURCES[source]}, n = ${number(n)}`,
    ],
  }));
  writeTable(out, ["family", "window", "what", "value", "source"], rows);
}
