import { readFileSync, writeSync } from "node:fs";
import { runStatusline } from "./statusline/run-statusline.ts";
import { statuslineArguments } from "./statusline/statusline-arguments.ts";

// A program of its own: a status line is drawn often, and the rest of the command line takes long to load.
const { wrap, isReport } = statuslineArguments(process.argv.slice(2));
const input = await readInput();

if (isReport) {
  const { reportStatus } = await import("./statusline/report.ts");
  await reportStatus(input, process.env);
} else
  await runStatusline(input, wrap, {
    env: process.env,
    now: Date.now,
    write: (text) => void writeSync(1, text),
    report,
  });

/** Streams take longer to load than a file takes to read. */
async function readInput(): Promise<string> {
  try {
    return readFileSync(0, "utf8");
  } catch {
    // A terminal, or a pipe that does not wait.
    let text = "";
    if (!process.stdin.isTTY) for await (const chunk of process.stdin) text += String(chunk);
    return text;
  }
}

async function report(status: string): Promise<void> {
  const { spawn } = await import("node:child_process");
  const program = [process.argv[1]!, "statusline", "--report"];
  const child = spawn(process.execPath, program, { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.stdin.end(status);
  child.unref();
}
