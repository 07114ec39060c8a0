import type { Argument, Command, Option } from "commander";

/** A word that may come next. */
export interface CompletionWord {
  word: string;
  /** One line; may be empty. */
  description: string;
}

/**
 * The words that may stand where the cursor is. None where the shell knows better, as for a file.
 * @param words what was typed after the name of the program; the last one is under the cursor and may be empty
 */
export function candidates(program: Command, words: readonly string[]): CompletionWord[] {
  // Bash passes --name=value as three words.
  const typed = words.at(-1) === "=" ? "" : (words.at(-1) ?? "");
  let command = program;
  let pending: Option | undefined;
  let given = 0;
  for (const word of words.slice(0, -1)) {
    if (word === "=") continue;
    if (pending !== undefined) pending = undefined;
    // What follows belongs to another program.
    else if (word === "--") return [];
    else if (word.startsWith("-")) pending = optionWithValue(command, word);
    else {
      const next: Command | undefined =
        given === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (next === undefined) given += 1;
      command = next ?? command;
    }
  }
  if (pending !== undefined) return startingWith(typed, choices(pending));
  const [, name, equals] = /^(--[^=]+)(=)/.exec(typed) ?? [];
  if (equals !== undefined) {
    const option = optionWithValue(command, name!);
    const values = option === undefined ? [] : choices(option);
    return startingWith(
      typed,
      values.map((value) => ({ ...value, word: `${name}=${value.word}` })),
    );
  }
  return startingWith(typed, typed.startsWith("-") ? options(command) : positions(command, given));
}

function positions(command: Command, given: number): CompletionWord[] {
  const args = command.registeredArguments;
  const argument = args[given] ?? (args.at(-1)?.variadic ? args.at(-1) : undefined);
  const below = given === 0 ? command.createHelp().visibleCommands(command) : [];
  const commands = below.map((one) => ({ word: one.name(), description: oneLine(one.description()) }));
  if (argument !== undefined) return [...commands, ...choices(argument)];
  return command.commands.length > 0 ? commands : options(command);
}

function options(command: Command): CompletionWord[] {
  const visible = command.createHelp().visibleOptions(command);
  return visible.map(({ long, short, description }) => ({
    word: long ?? short!,
    description: oneLine(description),
  }));
}

function optionWithValue(command: Command, word: string): Option | undefined {
  const found = command.options.find(({ long, short }) => word === long || word === short);
  return found?.required || found?.optional ? found : undefined;
}

function choices({ argChoices }: Option | Argument): CompletionWord[] {
  return (argChoices ?? []).map((word) => ({ word, description: "" }));
}

function startingWith(typed: string, all: readonly CompletionWord[]): CompletionWord[] {
  return all.filter(({ word }) => word.startsWith(typed));
}

const oneLine = (text: string) => text.replace(/\s+/g, " ").trim();
