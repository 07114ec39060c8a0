import { createProgram } from "./program.ts";
import { askOnTerminal } from "./prompt.ts";
import { run } from "./run.ts";
import { terminalOf } from "./terminal.ts";

const program = createProgram({
  env: process.env,
  out: terminalOf(process.stdout, process.env, process.stdin),
  err: terminalOf(process.stderr, process.env),
  now: Date.now,
  untilStopped: () => {
    const controller = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.once(signal, () => controller.abort());
    }
    return controller.signal;
  },
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask: askOnTerminal }),
});

// Not the default command of `program`: it would take a mistyped command as its argument.
await run(program, process.argv.length === 2 ? [...process.argv, "up"] : process.argv);
