import type { Command } from "commander";

/** The page of `man` about a program and all its commands, in roff. */
export function manPage(program: Command, version: string): string {
  const name = program.name();
  return `${[
    `.TH ${name.toUpperCase()} 1 "" "${name} ${version}"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(program.description())}`,
    ".SH SYNOPSIS",
    roff(program.createHelp().commandUsage(program)),
    ...body(program),
    ".SH COMMANDS",
    ...commandsBelow(program).flatMap((command) => [
      `.SS ${roff(fullName(command))}`,
      roff(program.createHelp().commandUsage(command)),
      ...(command.description() === "" ? [] : [".PP", `${roff(command.description())}.`]),
      ...body(command),
    ]),
  ].join("\n")}\n`;
}

/** Arguments, options, and the text that follows them in the help, with its lines as they are. */
function body(command: Command): string[] {
  const help = command.createHelp();
  const terms = [
    ...help
      .visibleArguments(command)
      .map((one) => [help.argumentTerm(one), help.argumentDescription(one)] as const),
    ...help
      .visibleOptions(command)
      .map((one) => [help.optionTerm(one), help.optionDescription(one)] as const),
  ];
  const notes = notesOf(command);
  return [
    ...terms.flatMap(([term, description]) => [".TP", `.B ${roff(term)}`, roff(description)]),
    ...(notes === "" ? [] : [".PP", ".nf", ...notes.split("\n").map(roff), ".fi"]),
  ];
}

/** What `addHelpText` added. */
function notesOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (more) => (text += more), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return text.slice(command.helpInformation().length).trim();
}

function commandsBelow(command: Command): Command[] {
  const below = command.createHelp().visibleCommands(command);
  return below.filter((one) => command.commands.includes(one)).flatMap((one) => [one, ...commandsBelow(one)]);
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** Text on one line. Roff takes a backslash, and a dot or an apostrophe at the beginning, as its own. */
function roff(text: string): string {
  return text
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^(?=[.'])/, "\\&")
    .replace(
      /\P{ASCII}/gu,
      (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}
