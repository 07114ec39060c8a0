import { writeSync } from "node:fs";
import { startReport } from "./background-report.ts";
import { readInput } from "./read-input.ts";
import { runStatusline } from "./statusline/run-statusline.ts";
import { statuslineArguments } from "./statusline/statusline-arguments.ts";

// A program of its own: a status line is drawn often, and the rest of the command line takes long to load.
async function main(): Promise<void> {
  const { isReport, ...shown } = statuslineArguments(process.argv.slice(2));
  const input = await readInput();
  if (isReport) {
    const { reportStatus } = await import("./statusline/report.ts");
    await reportStatus(input, process.env);
  } else
    await runStatusline(input, shown, {
      env: process.env,
      now: Date.now,
      write: (text) => void writeSync(1, text),
      report: (status) => startReport(["statusline", "--report"], status),
    });
}

void main();
