#!/usr/bin/env node
import { runProgram } from "./run-program.js";

// A status line is drawn after every message, so it loads nothing else.
const isStatusline = process.argv[2] === "statusline" && !process.argv.includes("--help");
await runProgram(isStatusline ? "statusline" : "plimsoll");
