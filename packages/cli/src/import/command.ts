import { FORMAT_PLACES } from "@plimsoll/harnesses/recordings";
import type { Command } from "commander";
import { createClient } from "../client.ts";
import { type CommandContext, wholeNumber, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { readMappingFile } from "../map/mapping-file.ts";
import { compareClocks } from "../network/server-clock.ts";
import { number, plural } from "../number-format.ts";
import { machineOf } from "../origin/machine.ts";
import { repositoryMode, repositoryNamer } from "../origin/repository.ts";
import { printable, printableJson } from "../terminal.ts";
import { followOpencode, type OpencodeFollowOptions } from "./follow-opencode.ts";
import { type ImportSummary, runImport } from "./import.ts";
import { type ImportedSession, importLinks } from "./links.ts";
import { nothingImported } from "./nothing.ts";
import { type OpencodeServer, opencodeServer } from "./opencode-server.ts";
import { planImport, type SkippedFile, WHY_TEXT } from "./plan.ts";
import { progressBar } from "./progress.ts";
import { summaryLines } from "./summary.ts";
import { tail } from "./tail.ts";

interface ReadFlags extends ConnectionFlags {
  harness?: string;
  contextLimit?: number;
  titles: boolean;
  map?: string;
}

const FORMATS = `
Formats, detected from the file content:
${FORMAT_PLACES.map(([name, place]) => `  ${name.padEnd(12)} ${place}`).join("\n")}

Crush, the history of Roo Code and old versions of Goose are not read: they hold totals, which are sums over requests.

--map <file> reads other JSON lines and JSON documents by a mapping; npx plimsoll map --help says how to make one.

Event ids are derived from the recording, so importing a file again changes nothing.`;

const READABLE = "Run npx plimsoll import --help for the formats.";

export function addImportCommands(program: Command, context: CommandContext): void {
  withReading(withConnection(program.command("import")))
    .description("Import recordings of harnesses")
    .option("--dry-run", "read and count, send nothing")
    .option("--json", "print the summary as JSON")
    .addHelpText(
      "after",
      `${FORMATS}
Imported sessions end with the reason "imported", so that they do not appear as live. For running sessions use
npx plimsoll tail.
The exit code is 1 if a named file yields nothing, no file contains turns, or the server rejects an event.

Examples:
  npx plimsoll import ~/.claude/projects --dry-run
  npx plimsoll import ~/.local/share/opencode
  npx plimsoll import runs/*.jsonl --harness agentd@lab
  npx plimsoll import garden/.ouro-logs --context-limit 32768`,
    )
    .action(async (paths: string[], flags: ReadFlags & { dryRun?: boolean; json?: boolean }) => {
      const mapping = await fileMapping(flags);
      const plan = await planImport(paths, { contextLimit: flags.contextLimit, mapping });
      if (plan.groups.length === 0 && plan.unknown.length === 0) {
        throw new CliError(`No recordings found in ${paths.join(", ")}.`, {
          hint: "Give a recording or a folder that contains one.",
        });
      }
      const connection = flags.dryRun ? undefined : await connect(flags, context.env);
      const bar = progressBar(context.err, context.now);
      let imported: readonly ImportedSession[] = [];
      const summary = await runImport(plan, connection, {
        harness: flags.harness,
        ...originOf(context),
        titles: flags.titles,
        mapping,
        onProgress: bar.show,
        onSessions: (sessions) => {
          imported = sessions;
        },
        send: {
          onWait: (ms, why) => {
            bar.clear();
            context.err.write(`${printable(why)} Trying again in ${Math.ceil(ms / 1_000)} s.\n`);
          },
        },
      }).finally(bar.clear);
      const links =
        connection === undefined ? [] : await importLinks(createClient(connection), imported, connection);
      context.out.write(
        flags.json
          ? `${printableJson({ ...jsonSummary(summary), unknown_files: [...plan.unknown, ...summary.unreadable].map(fileJson), links })}\n`
          : `${[...summaryLines(summary, plan), ...linkLines(links)].join("\n")}\n`,
      );
      const nothing = nothingImported(paths, plan, summary);
      if (nothing.length > 0) {
        throw new CliError(
          summary.events === 0
            ? "Nothing was imported: the files contain no turns that Plimsoll can read."
            : `Nothing was imported from ${plural(nothing.length, "file")}.`,
          { hint: [...nothing.map((line) => `  ${line}`), READABLE].join("\n") },
        );
      }
      if ((summary.sent?.rejected.length ?? 0) > 0) process.exitCode = 1;
    });

  withReading(withConnection(program.command("tail")))
    .description("Import recordings and follow them as they grow, or follow a server of opencode")
    .addHelpText(
      "after",
      `${FORMATS}
  A URL        a running server of opencode or Kilo, such as of opencode serve; OPENCODE_SERVER_PASSWORD if it has one

After a restart, tail reads all files again; the server stores only new events.

Examples:
  npx plimsoll tail ~/.claude/projects
  npx plimsoll tail http://127.0.0.1:4096
  npx plimsoll tail garden/.ouro-logs --harness ouroboros@garden`,
    )
    .action(async (paths: string[], flags: ReadFlags) => {
      const mapping = await fileMapping(flags);
      const connection = await connect(flags, context.env);
      const { fault } = (await compareClocks(connection.url, context.now)) ?? {};
      if (fault !== undefined) context.err.write(`${fault}\n`);
      const servers = paths.filter((path) => /^https?:\/\//.test(path)).map(serverAt);
      const files = paths.filter((path) => !/^https?:\/\//.test(path));
      let trouble: string | undefined;
      const options = {
        harness: flags.harness,
        ...originOf(context),
        titles: flags.titles,
        now: context.now,
        signal: context.untilStopped(),
        onSent: ({ accepted, duplicates, rejected }) => {
          trouble = undefined;
          const refused = rejected.length === 0 ? "" : `, ${number(rejected.length)} rejected`;
          context.err.write(`${number(accepted)} accepted, ${number(duplicates)} already known${refused}\n`);
        },
        onTrouble: (message) => {
          if (message !== trouble) context.err.write(`${printable(message)} Retrying.\n`);
          trouble = message;
        },
      } satisfies OpencodeFollowOptions;
      const target = `sending events to ${connection.url}. Press Ctrl+C to stop.`;
      const followed = servers.map((server) =>
        followOpencode(server, connection, {
          ...options,
          onRead: (sessions) =>
            context.err.write(`Read ${plural(sessions, "session")}; following the server and ${target}\n`),
        }),
      );
      if (files.length > 0)
        followed.push(
          tail(files, connection, {
            ...options,
            contextLimit: flags.contextLimit,
            mapping,
            onBegun: () => context.err.write(`Following the recordings and ${target}\n`),
            onSkipped: ({ path, why }) => context.err.write(`Skipped ${printable(path)}: ${WHY_TEXT[why]}\n`),
          }),
        );
      await Promise.all(followed);
    });

  function serverAt(url: string): OpencodeServer {
    if (!URL.canParse(url)) throw new CliError(`${JSON.stringify(url)} is not a URL.`);
    return opencodeServer(url, context.env.OPENCODE_SERVER_PASSWORD || undefined);
  }
}

/** Where the sessions of this machine run, as its settings say it. */
const originOf = ({ env }: CommandContext) => ({
  machine: machineOf(env),
  repositoryOf: repositoryNamer(repositoryMode(env) ?? "off", env),
});

const fileMapping = async ({ map }: ReadFlags) =>
  map === undefined ? undefined : readMappingFile(map, "file");

const fileJson = ({ path, why }: SkippedFile) => ({ path, why });

function jsonSummary({ unused, unreadable: _, ...summary }: ImportSummary) {
  return { ...summary, unused_files: unused.map(({ path, skipped }) => ({ path, skipped })) };
}

function linkLines(links: readonly string[]): string[] {
  return links.length === 0 ? [] : ["open", ...links.map((link) => `  ${printable(link)}`)];
}

function withReading(command: Command): Command {
  return command
    .argument("<path...>", "files, folders, or for tail also URLs")
    .option("--harness <instance>", "harness instance of the events (default: <format>@<this host>)")
    .option("--context-limit <tokens>", "window size for Ouroboros logs", wholeNumber)
    .option("--map <file>", "mapping for files of no known format")
    .option("--no-titles", "send no titles, because they quote prompts and summaries");
}
