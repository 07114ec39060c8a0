#!/usr/bin/env node
import { runProgram } from "./run-program.js";

// A harness waits for its status line and its hooks, so they load nothing else.
const isQuick = ["statusline", "hook"].includes(process.argv[2]) && !process.argv.includes("--help");
await runProgram(isQuick ? process.argv[2] : "plimsoll");
