import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startInTerminal } from "../testing/real-terminal.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.js", import.meta.url));
const isMissing = (program: string) => spawnSync(program, ["--version"]).error !== undefined;

/** A folder with the program plimsoll, and with a file that has a space in its name. */
let folder: string;
const env = () => ({ ...process.env, PATH: [folder, process.env.PATH].join(delimiter), HOME: folder });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-shells-"));
  const program = join(folder, "plimsoll");
  await writeFile(program, `#!/bin/sh\nexec ${process.execPath} ${PROGRAM} "$@"\n`);
  await chmod(program, 0o755);
  await writeFile(join(folder, "a policy.yaml"), "");
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await run(program, ["completions", shell]);
    await writeFile(join(folder, `complete.${shell}`), stdout);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("bash", () => {
  it.each([
    ["plimsoll key r", ["revoke", "rotate"]],
    ["plimsoll key rotate --grace 2", ["24h"]],
    ["plimsoll completions ", ["bash", "fish", "zsh"]],
    ["plimsoll status --w", ["--watch"]],
    ["plimsoll nothing --x $(touch evil) ", []],
  ])("completes %o", async (line, expected) => {
    const script = `source ./complete.bash; IFS=' ' read -r -a COMP_WORDS <<< "$1x"
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMP_WORDS[COMP_CWORD]=\${COMP_WORDS[COMP_CWORD]%x}
      _plimsoll; printf '%s\\n' "\${COMPREPLY[@]}"; ls`;
    const { stdout } = await run("bash", ["--norc", "-c", script, "bash", line], { cwd: folder, env: env() });
    const lines = stdout
      .split("\n")
      .filter((word) => word !== "" && !/^(?:a policy|complete|plimsoll)/.test(word));
    expect(lines.toSorted()).toEqual(expected);
  });

  it("completes with the Tab key, and files where a file belongs", async () => {
    const terminal = startInTerminal("bash --norc -i", {
      home: folder,
      cwd: folder,
      env: { PATH: env().PATH!, PS1: "ready> ", INPUTRC: "/dev/null" },
      limit: 100_000,
    });
    await terminal.type("source ./complete.bash");
    await terminal.type("echo plimsoll; plimsoll key ro\t--help");
    await expect.poll(() => terminal.text()).toContain("plimsoll key rotate --help");
    await expect.poll(() => terminal.text()).toContain("Usage: plimsoll key rotate");
    await terminal.type("plimsoll policy set a\t--nothing");
    await expect.poll(() => terminal.text()).toContain("plimsoll policy set a\\ policy.yaml --nothing");
    await terminal.type("exit");
    await terminal.ended;
  });
});

describe.skipIf(isMissing("fish"))("fish", () => {
  it.each([
    ["plimsoll key ro", "rotate\tReplace a key"],
    ["plimsoll completions f", "fish"],
    ["plimsoll policy set 'a p", "a policy.yaml"],
  ])("completes %o", async (line, expected) => {
    const script = 'source complete.fish; complete -C "$argv[1]"';
    const { stdout } = await run("fish", ["--no-config", "-c", script, line], { cwd: folder, env: env() });
    expect(stdout).toContain(expected);
  });
});

describe.skipIf(isMissing("zsh"))("zsh", () => {
  it("completes with the Tab key", async () => {
    const terminal = startInTerminal("zsh -f -i", {
      home: folder,
      cwd: folder,
      env: { PATH: env().PATH!, FPATH: process.env.FPATH ?? "" },
      limit: 100_000,
    });
    await terminal.type("autoload -Uz compinit; compinit -u; source ./complete.zsh");
    await terminal.type("plimsoll key ro\t--help");
    await expect.poll(() => terminal.text()).toContain("Usage: plimsoll key rotate");
    await terminal.type("plimsoll policy set a\t--nothing");
    await expect.poll(() => terminal.text()).toContain("unknown option '--nothing'");
    await terminal.type("exit");
    await terminal.ended;
  });
});

it.skipIf(isMissing("groff"))("man shows the page without a warning", async () => {
  const { stdout: page } = await run(join(folder, "plimsoll"), ["man"]);
  await writeFile(join(folder, "plimsoll.1"), page);
  const { stdout, stderr } = await run("groff", [
    "-man",
    "-Tutf8",
    "-ww",
    "-P-cbou",
    join(folder, "plimsoll.1"),
  ]);
  expect(stderr).toBe("");
  expect(stdout).toContain("plimsoll key rotate [options] <id|prefix>");
  expect(stdout).toMatch(/\n +npx plimsoll status --watch +the same, kept up to date\n/);
});
