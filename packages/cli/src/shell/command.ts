import { Argument, type Command } from "commander";
import type { Terminal } from "../terminal.ts";
import { VERSION } from "../version.ts";
import { candidates } from "./candidates.ts";
import { manPage } from "./man-page.ts";

/** What a shell sources. Each asks `plimsoll complete` for the words that may come next, so all three complete the same. */
const SCRIPTS = {
  bash: `_plimsoll() {
  local IFS=$'\\n'
  COMPREPLY=($(plimsoll complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o bashdefault -o default -F _plimsoll plimsoll
`,
  zsh: `#compdef plimsoll
_plimsoll() {
  local -a found
  found=("\${(@f)$(plimsoll complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found//:/\\\\:}")
  found=("\${(@)found//$'\\t'/:}")
  if [[ -n $found ]]; then _describe command found; else _files; fi
}
if [[ \${funcstack[1]-} == _plimsoll ]]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi
`,
  fish: `function __plimsoll_ask
  set -l words (commandline -opc)
  set -e words[1]
  set -l word (commandline -ct)
  test (count $word) -gt 0; or set word ''
  set -g __plimsoll_words (plimsoll complete -- $words $word 2>/dev/null)
  test (count $__plimsoll_words) -gt 0
end
complete -c plimsoll -n __plimsoll_ask -f -a '(printf "%s\\n" $__plimsoll_words)'
`,
};
const SHELLS = ["bash", "zsh", "fish"] as const satisfies (keyof typeof SCRIPTS)[];

/** Adds what makes the shell know the commands that `program` has. */
export function addShellCommands(program: Command, out: Terminal): void {
  program
    .command("completions")
    .description("Print a script that makes a shell complete commands and options")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      `
Examples:
  echo 'source <(plimsoll completions bash)' >> ~/.bashrc
  echo 'source <(plimsoll completions zsh)' >> ~/.zshrc      after compinit
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish`,
    )
    .action((shell: (typeof SHELLS)[number]) => out.write(SCRIPTS[shell]));

  program
    .command("man")
    .description("Print the manual page; an installed package also has it for man plimsoll")
    .addHelpText("after", "\nExample:\n  npx plimsoll man | man -l -")
    .action(() => out.write(manPage(program, VERSION)));

  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .action((words: string[]) => {
      for (const { word, description } of candidates(program, words))
        out.write(`${word}${description === "" ? "" : `\t${description}`}\n`);
    });
}
