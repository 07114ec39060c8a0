#!/usr/bin/env node
const { runProgram } = require("./run-program.js");

runProgram("phantom.js");
