import type { Command } from "commander";
import type { ConnectionFlags } from "../connection.ts";
import { connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import type { Surroundings } from "../options.ts";
import { wholeNumber, withConnection } from "../options.ts";
import { number } from "../words.ts";
import { runImport } from "./import.ts";
import { planImport } from "./plan.ts";
import { progressBar } from "./progress.ts";
import { summaryLines } from "./summary.ts";
import { tail } from "./tail.ts";

interface ReadFlags extends ConnectionFlags {
  harness?: string;
  contextLimit?: number;
  titles: boolean;
}

const FORMATS = `
Formats, told apart by what is in the file:
  Claude Code  ~/.claude/projects, one project's folder, or one session's file
  Codex        ~/.codex/sessions, ~/.codex/archived_sessions, or one rollout
  Ouroboros    <workspace>/../.ouro-logs; the window is [safety] context_limit of the ouro.toml beside it
  agentd       recordings with a meta line, and bare traces

Events carry ids made from the recording, so reading the same file again changes nothing.`;

export function addImportCommands(program: Command, around: Surroundings): void {
  withReading(withConnection(program.command("import")))
    .description("Read recordings of other harnesses and send what they say")
    .option("--dry-run", "read and count, send nothing")
    .option("--json", "print the summary as JSON")
    .addHelpText(
      "after",
      `${FORMATS} Sessions are ended with
the reason "imported", so that a history does not look live; use plimsoll tail for what is still running.

Examples:
  plimsoll import ~/.claude/projects --dry-run
  plimsoll import runs/*.jsonl --harness agentd@lab
  plimsoll import garden/.ouro-logs --context-limit 32768`,
    )
    .action(async (paths: string[], flags: ReadFlags & { dryRun?: boolean; json?: boolean }) => {
      const plan = await planImport(paths, { contextLimit: flags.contextLimit });
      if (plan.groups.length === 0 && plan.unknown.length === 0) {
        throw new CliError("There are no .jsonl files there.");
      }
      const connection = flags.dryRun ? undefined : await connect(flags, around.env);
      const bar = progressBar(around.err, around.now);
      const summary = await runImport(plan, connection, {
        harness: flags.harness,
        titles: flags.titles,
        onProgress: bar.show,
        send: {
          onWait: (ms, why) => {
            bar.clear();
            around.err.write(`${why} Trying again in ${Math.ceil(ms / 1_000)} s.\n`);
          },
        },
      }).finally(bar.clear);
      around.out.write(
        flags.json
          ? `${JSON.stringify({ ...summary, unknown_files: plan.unknown }, null, 2)}\n`
          : `${summaryLines(summary, plan).join("\n")}\n`,
      );
      if (plan.groups.length === 0 || (summary.sent?.rejected.length ?? 0) > 0) process.exitCode = 1;
    });

  withReading(withConnection(program.command("tail")))
    .description("Send what recordings say and go on with what is written to them")
    .addHelpText(
      "after",
      `${FORMATS} Stopped and started
again, it reads everything once more and the server keeps what it lacks.

Examples:
  plimsoll tail ~/.claude/projects
  plimsoll tail garden/.ouro-logs --harness ouroboros@garden`,
    )
    .action(async (paths: string[], flags: ReadFlags) => {
      const connection = await connect(flags, around.env);
      let trouble: string | undefined;
      await tail(paths, connection, {
        harness: flags.harness,
        titles: flags.titles,
        contextLimit: flags.contextLimit,
        now: around.now,
        signal: around.untilStopped(),
        onBegun: () => around.err.write(`Following; events go to ${connection.url}. Ctrl+C to stop.\n`),
        onSent: ({ accepted, duplicates, rejected }) => {
          trouble = undefined;
          const refused = rejected.length === 0 ? "" : `, ${number(rejected.length)} rejected`;
          around.err.write(`${number(accepted)} accepted, ${number(duplicates)} already known${refused}\n`);
        },
        onTrouble: (message) => {
          if (message !== trouble) around.err.write(`${message} Trying again.\n`);
          trouble = message;
        },
      });
    });
}

function withReading(command: Command): Command {
  return command
    .argument("<path...>", "files or folders")
    .option(
      "--harness <instance>",
      "file the events under this harness instance (default: <format>@<this host>)",
    )
    .option("--context-limit <tokens>", "size of the window, for Ouroboros logs", wholeNumber)
    .option("--no-titles", "send no titles: they quote prompts and summaries");
}
