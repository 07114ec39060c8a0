import { readFileSync } from "node:fs";

/** Standard input as text. Streams take longer to load than a file takes to read. */
export async function readInput(): Promise<string> {
  try {
    return readFileSync(0, "utf8");
  } catch {
    // A terminal, or a pipe that does not wait.
    let text = "";
    if (!process.stdin.isTTY) for await (const chunk of process.stdin) text += String(chunk);
    return text;
  }
}
