#!/usr/bin/env node
const { runProgram } = require("./run-program.js");

// A harness waits for its status line and its hooks, so they load nothing else.
const isQuick = ["statusline", "hook"].includes(process.argv[2]) && !process.argv.includes("--help");
runProgram(isQuick ? `${process.argv[2]}.cjs` : "plimsoll.js");
