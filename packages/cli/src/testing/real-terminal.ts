import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type HarnessRun, harnessEnv } from "./real-harness.ts";

/** How long a screen is still before it is ready for a key, ms. */
const STILL_MS = 700;
// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of a terminal begin with it
const SEQUENCES = /\u001b(?:\[[0-9;?<>=]*[A-Za-z]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[^[\]])/g;

export interface RealTerminal {
  /** Types a line once the screen is still, and presses Enter. */
  type(line: string): Promise<void>;
  /** What was on the screen so far, without control sequences. */
  text(): string;
  /** Waits for the end of the program. */
  ended: Promise<unknown>;
}

/** Runs a program in a pseudo-terminal, with the program `script` of util-linux. */
export function startInTerminal(command: string, run: HarnessRun): RealTerminal {
  const child = spawn("script", ["-qefc", `stty rows 50 cols 160; exec ${command}`, "/dev/null"], {
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

  async function untilStill(): Promise<void> {
    while (output === "" || Date.now() - changedAt < STILL_MS) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      await sleep(100);
    }
  }

  return {
    async type(line) {
      await untilStill();
      changedAt = Date.now();
      child.stdin.write(line);
      await untilStill();
      changedAt = Date.now();
      child.stdin.write("\r");
    },
    text: () => output.replace(SEQUENCES, ""),
    ended,
  };
}
