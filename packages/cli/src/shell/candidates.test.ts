import { Argument, Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { candidates } from "./candidates.ts";
import { manPage } from "./man-page.ts";

function program(): Command {
  const top = new Command("ship").description("Load a ship.");
  top.command("load").description("Load\nit").argument("<file>").option("-f, --fast", "be quick");
  top.command("secret", { hidden: true });
  const key = top.command("key").description("Keys");
  key.command("list").description("List keys").option("--json", "print JSON");
  key
    .command("turn")
    .addArgument(new Argument("<way>", "the way").choices(["left", "right"]))
    .argument("[files...]")
    .addOption(new Option("--grace <time>", "how long").choices(["0", "24h"]))
    .option("--name <name>", "a name")
    .addHelpText("after", "\nExamples…\n  .ship key turn left\n  'c:\\x'");
  top.command("run").argument("[command...]");
  return top;
}
const words = (...typed: string[]) => candidates(program(), typed).map(({ word }) => word);

describe("candidates", () => {
  it.each([
    ["the commands", [""], ["load", "key", "run", "help"]],
    ["the commands that begin so", ["ke"], ["key"]],
    ["the commands of a command", ["key", ""], ["list", "turn", "help"]],
    ["the options after a dash", ["load", "-"], ["--fast", "--help"]],
    ["the options of a command without arguments", ["key", "list", ""], ["--json", "--help"]],
    ["the choices of an argument", ["key", "turn", ""], ["left", "right"]],
    ["nothing for a file", ["load", ""], []],
    ["nothing for the files that follow", ["key", "turn", "left", "a", ""], []],
    ["the choices of an option", ["key", "turn", "--grace", ""], ["0", "24h"]],
    ["the choices after an equals sign", ["key", "turn", "--grace=2"], ["--grace=24h"]],
    ["the same in three words, as Bash has them", ["key", "turn", "--grace", "=", "2"], ["24h"]],
    ["the same at the equals sign", ["key", "turn", "--grace", "="], ["0", "24h"]],
    ["nothing for another value", ["key", "turn", "--name", ""], []],
    ["nothing for an unknown option's value", ["key", "turn", "--x=2"], []],
    [
      "an argument after an option's value that is a command's name",
      ["key", "turn", "--name", "list", "l"],
      ["left"],
    ],
    ["nothing after two dashes", ["run", "--", "key", ""], []],
    ["nothing that is unknown", ["constructor", "__proto__", "x"], []],
    ["the commands for no words at all", [], ["load", "key", "run", "help"]],
  ])("are %s", (_, typed, expected) => {
    expect(words(...typed)).toEqual(expected);
  });

  it("have descriptions of one line", () => {
    expect(candidates(program(), ["lo"])).toEqual([{ word: "load", description: "Load it" }]);
  });
});

describe("the manual page", () => {
  const page = manPage(program(), "1.2.3");

  it("has every command with its options and notes, and no hidden ones", () => {
    expect(page.match(/^\.SS .*/gm)).toEqual([
      ".SS ship load",
      ".SS ship key",
      ".SS ship key list",
      ".SS ship key turn",
      ".SS ship run",
    ]);
    expect(page).toContain('.TP\n.B \\-\\-grace <time>\nhow long (choices: "0", "24h")');
  });

  it("has no request of roff in its text", () => {
    expect(page).toContain("\n.nf\nExamples\\[u2026]\n  .ship key turn left\n  'c:\\ex'\n.fi");
    expect(page).not.toMatch(/^(?!\.(?:TH|SH|SS|TP|PP|B|nf|fi)\b)[.']/m);
  });
});
