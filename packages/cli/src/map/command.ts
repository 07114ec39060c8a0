import { fileStem } from "@plimsoll/harnesses/recordings";
import {
  SavedMapping,
  SavedMappingList,
  type UnmappedTelemetry,
  UnmappedTelemetryList,
} from "@plimsoll/protocol/api";
import { mapSourceName, matchText, type RecordMapping, readMapping } from "@plimsoll/protocol/mapping";
import type { Command } from "commander";
import { z } from "zod";
import { writeNewFile } from "../backup/new-file.ts";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { number, plural } from "../number-format.ts";
import { tableLines, writeTable } from "../table.ts";
import { printable, printableJson, type Terminal } from "../terminal.ts";
import { readMappingFile } from "./mapping-file.ts";
import { type Preview, previewOf, proposeForRecords, readRecords } from "./propose-file.ts";
import { mappable, mappingName, proposeForSource, sourceOf } from "./propose-source.ts";

type JsonFlags = ConnectionFlags & { json?: boolean };
interface ProposeFlags extends JsonFlags {
  file?: string;
  name?: string;
  output?: string;
  force?: boolean;
}

const HELP = `
A mapping says where records have their session, agent, id, time, model, counts of tokens and window. One file serves
OpenTelemetry data, once it is applied, and recordings, with npx plimsoll import --map and npx plimsoll tail --map.

Examples:
  npx plimsoll map                                                     list the data that nothing reads
  npx plimsoll map propose traces/my-agent/my.tracer --output my-agent.json
  npx plimsoll map propose --file runs/today.jsonl --output my-agent.json
  npx plimsoll map apply my-agent.json                                 read OpenTelemetry data by it
  npx plimsoll import runs --map my-agent.json                         read recordings by it`;

export function addMapCommands(program: Command, context: CommandContext): void {
  const { out } = context;
  const open = async (flags: ConnectionFlags) => createClient(await connect(flags, context.env));
  const map = withConnection(program.command("map"))
    .description("List OpenTelemetry data that no dialect reads, and map its attributes")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (flags: JsonFlags) => {
      const sources = await unmappedSources(await open(flags));
      if (flags.json) out.write(`${printableJson({ sources })}\n`);
      else writeSources(out, sources);
    });

  withConnection(map.command("propose"))
    .description("Propose a mapping by well-known names of attributes or fields")
    .argument("[source]", "a source that npx plimsoll map lists, or an unambiguous part of its name")
    .option("--file <file>", "propose it for JSON lines or a JSON document instead; needs no server")
    .option("--name <name>", "name of the mapping")
    .option("-o, --output <file>", "write the mapping to a new file")
    .option("--force", "replace the file if it exists")
    .option("--json", "print JSON: {mapping, preview}")
    .action(async (which: string | undefined, _: unknown, command: Command) => {
      const flags = flagsOf<ProposeFlags>(command);
      if ((which === undefined) === (flags.file === undefined))
        throw new CliError("Name a source or give --file.", { hint: "npx plimsoll map lists the sources." });
      const proposal =
        flags.file === undefined
          ? proposeOf(sourceOf(await unmappedSources(await open(flags)), which!), flags.name)
          : await proposeOfFile(flags.file, flags.name);
      await writeProposal(context, proposal, flags);
    });

  withConnection(map.command("apply"))
    .description("Store a mapping on the server, which reads OpenTelemetry data by it from then on")
    .argument("<file>")
    .action(async (file: string, _: unknown, command: Command) => {
      const { mapping } = await readMappingFile(file, "otlp");
      await (await open(flagsOf(command))).mutate("mappings.save", mapping, SavedMapping);
      out.write(
        `Saved the mapping ${mapping.name}. It reads records that the server receives from now on.\n`,
      );
    });

  withConnection(map.command("list"))
    .description("List the mappings on the server")
    .option("--json", "print JSON")
    .action(async (_: unknown, command: Command) => {
      const flags = flagsOf(command);
      const list = await (await open(flags)).query("mappings.list", {}, SavedMappingList);
      if (flags.json) out.write(`${printableJson(list)}\n`);
      else writeMappings(out, list);
    });

  withConnection(map.command("remove"))
    .description("Remove a mapping from the server; turns that it made stay")
    .argument("<name>")
    .action(async (name: string, _: unknown, command: Command) => {
      await (await open(flagsOf(command))).mutate("mappings.remove", { name }, z.object({}));
      out.write(`Removed the mapping ${printable(name)}.\n`);
    });
}

/** The flags of a subcommand. The command line gives those that `map` has too to `map`. */
const flagsOf = <T extends JsonFlags = JsonFlags>(command: Command): T => command.optsWithGlobals<T>();

const unmappedSources = async (client: Client) =>
  mappable((await client.query("ingest.unmapped", {}, UnmappedTelemetryList)).sources);

function writeSources(out: Terminal, sources: readonly UnmappedTelemetry[]): void {
  if (sources.length === 0) out.write("All OpenTelemetry data that arrived has a dialect or a mapping.\n");
  for (const source of sources) {
    const { count, last_at, attributes, mapped_by, counts_tokens } = source;
    const state =
      mapped_by === null ? (counts_tokens ? "not mapped" : "counts no tokens") : `mapped by ${mapped_by}`;
    out.write(`${printable(mapSourceName(source))}\n`);
    out.write(`  ${plural(count, "record")}, last ${last_at}, ${printable(state)}\n`);
    out.write(`  ${printable(attributes.join(", ")) || "no attributes"}\n`);
  }
}

function writeMappings(out: Terminal, { mappings }: SavedMappingList): void {
  const rows = mappings.map(({ mapping, updated_at }) => ({
    cells: [mapping.name, matchText(mapping), updated_at],
  }));
  writeTable(out, ["name", "reads", "saved"], rows);
}

interface Proposal {
  mapping: RecordMapping;
  /** Undefined if only names are known. */
  preview: Preview | undefined;
}

function proposeOf(source: UnmappedTelemetry, name: string | undefined): Proposal {
  const mapping = proposeForSource(source, name ?? mappingName(source.service, source.scope));
  if (mapping === undefined) throw noCounts(mapSourceName(source), source.attributes);
  return { mapping, preview: undefined };
}

async function proposeOfFile(file: string, name: string | undefined): Promise<Proposal> {
  const records = await readRecords(file).catch((cause: Error) => {
    throw new CliError(`${file} cannot be read: ${cause.message}`, { cause });
  });
  const mapping = proposeForRecords(name ?? mappingName(fileStem(file.replaceAll("\\", "/"))), records);
  if (mapping === undefined) throw noCounts(file, Object.keys((records[0] ?? {}) as object));
  return { mapping, preview: previewOf(mapping, records, file.replaceAll("\\", "/")) };
}

const noCounts = (what: string, names: readonly string[]) =>
  new CliError(`No name in ${printable(what)} is like a count of prompt tokens.`, {
    hint: `It has: ${printable(names.slice(0, 40).join(", ")) || "nothing"}. docs/connect.md shows how to write a mapping by hand.`,
  });

async function writeProposal(
  { out, err }: CommandContext,
  { mapping, preview }: Proposal,
  { json, output, force }: ProposeFlags,
): Promise<void> {
  const read = readMapping(mapping);
  if (!read.ok) {
    throw new CliError("No valid mapping can be proposed.", {
      hint: read.mistakes.map((mistake) => `  ${printable(mistake)}`).join("\n"),
    });
  }
  const text = `${printableJson(mapping)}\n`;
  if (output !== undefined)
    await writeNewFile(output, { force: force === true }, (file) => file.writeFile(text));
  if (json) {
    out.write(`${printableJson({ mapping, preview: preview ?? null })}\n`);
    return;
  }
  if (output === undefined) out.write(text);
  err.write(`${[...previewLines(err, preview), ...nextLines(mapping, output)].join("\n")}\n`);
}

function previewLines(terminal: Terminal, preview: Preview | undefined): string[] {
  if (preview === undefined) return ["Names alone were known: check each path before you apply it."];
  const { records, turns, first, problems } = preview;
  const count = (value: number | null) => (value === null ? "-" : number(value));
  const rows = first.map(({ session, agent, at, model, input, cache_read, cache_write, output, window }) => ({
    cells: [session, agent, at, model, ...[input, cache_read, cache_write, output, window].map(count)],
  }));
  const head = ["session", "agent", "at", "model", "input", "read", "write", "output", "window"];
  return [
    `${plural(turns, "turn")} in the first ${plural(records, "record")}`,
    ...(rows.length === 0 ? [] : tableLines(terminal, head, rows)),
    ...problems.map(({ problem, records }) => `${number(records).padStart(9)}  ${printable(problem)}`),
  ];
}

function nextLines({ name, match }: RecordMapping, output: string | undefined): string[] {
  const file = output ?? `${name}.json`;
  const next =
    match.otlp === undefined ? `npx plimsoll import <path> --map ${file}` : `npx plimsoll map apply ${file}`;
  return [
    `${output === undefined ? `Save it as ${file}, check it, then: ` : `Wrote ${output}. Check it, then: `}${next}`,
  ];
}
