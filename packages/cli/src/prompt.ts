import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CliError } from "./errors.ts";

/** Asks a person on the terminal. `hidden` does not show what is typed. */
export type Ask = (question: string, options?: { hidden?: boolean }) => Promise<string>;

/** @throws CliError if the person leaves with Ctrl+C or Ctrl+D */
export const askOnTerminal: Ask = async (question, { hidden = false } = {}) => {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // readline would draw a hidden question to nowhere.
  if (hidden) process.stderr.write(question);
  const lines = createInterface({
    input: process.stdin,
    output: hidden ? silent : process.stderr,
    terminal: true,
    historySize: 0,
  });
  const left = new AbortController();
  lines.on("SIGINT", () => left.abort());
  lines.on("close", () => left.abort());
  try {
    return await lines.question(hidden ? "" : question, { signal: left.signal });
  } catch (cause) {
    throw new CliError("Stopped.", { cause });
  } finally {
    lines.close();
    if (hidden || left.signal.aborted) process.stderr.write("\n");
  }
};
