import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type HarnessRun, harnessEnv } from "./real-harness.ts";

const execute = promisify(execFile);

/** How long a screen is still before it is ready for a key, ms. */
const STILL_MS = 700;
// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of a terminal begin with it
const SEQUENCES = /\u001b(?:\[[0-9;?<>=]*[A-Za-z]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[^[\]])/g;

export interface RealTerminal {
  /** Types a line once the screen is still, and presses Enter. */
  type(line: string): Promise<void>;
  /** Presses keys, without waiting. */
  press(keys: string): void;
  resize(size: TerminalSize): Promise<void>;
  /** Stops or continues the program. */
  signal(name: NodeJS.Signals): void;
  /** What was on the screen so far, without control sequences. */
  text(): string;
  /** The lines that were drawn last from the top of the screen, without control sequences. */
  frame(): string[];
  /** All of the output. */
  output(): string;
  /** Waits for the end of the program. */
  ended: Promise<unknown>;
}

export interface TerminalSize {
  rows: number;
  columns: number;
}

const setSize = ({ rows, columns }: TerminalSize) => ["rows", String(rows), "cols", String(columns)];

/** Runs a program in a pseudo-terminal, with the program `script` of util-linux. */
export function startInTerminal(
  command: string,
  run: HarnessRun,
  size: TerminalSize = { rows: 50, columns: 160 },
): RealTerminal {
  const begin = `echo "$$ $(tty)"; stty ${setSize(size).join(" ")}; exec ${command}`;
  const child = spawn("script", ["-qefc", begin, "/dev/null"], {
    cwd: run.cwd,
    env: { ...harnessEnv(run), TERM: "xterm-256color", LANG: "C.UTF-8" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let output = "";
  let changedAt = Date.now();
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
    changedAt = Date.now();
  });
  child.stdin.on("error", () => {});
  const timer = setTimeout(() => child.kill("SIGKILL"), run.limit);
  const ended = once(child, "exit").finally(() => clearTimeout(timer));

  /** Also until the program drew something, and more than `length` characters came. What is typed before goes to the terminal alone. */
  async function untilStill(length = 0): Promise<void> {
    while (output.length <= length || !output.includes("\u001b") || Date.now() - changedAt < STILL_MS) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      await sleep(100);
    }
  }

  return {
    async type(line) {
      await untilStill();
      const { length } = output;
      child.stdin.write(line);
      await untilStill(length);
      changedAt = Date.now();
      child.stdin.write("\r");
    },
    press: (keys) => void child.stdin.write(keys),
    resize: async (to) => {
      const [, , device] = /^(\d+) (\S+)/.exec(output)!;
      await execute("stty", ["-F", device!, ...setSize(to)]);
    },
    signal: (name) => process.kill(Number(/^\d+/.exec(output)![0]), name),
    text: () => output.replace(SEQUENCES, ""),
    frame: () => output.split("\u001b[H").at(-1)!.replace(SEQUENCES, "").split(/\r*\n/),
    output: () => output,
    ended,
  };
}
