import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { childProgram } from "../../guard/src/testing/child-process.ts";

let folder: string;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-input-"));
  const source = `import { readInput } from ${JSON.stringify(join(import.meta.dirname, "read-input.ts"))};
    process.stdout.write(String((await readInput()).length));`;
  program = await childProgram(folder, source);
});
afterAll(() => rm(folder, { recursive: true }));

/** The length of what a program reads from an input, which may have no end. */
async function lengthOf(write: (input: NodeJS.WritableStream) => void): Promise<number> {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {});
  write(child.stdin);
  let text = "";
  for await (const chunk of child.stdout) text += String(chunk);
  return Number(text);
}

it("reads the input of a harness, whatever its pieces", async () => {
  const input = JSON.stringify({ tool_input: `é [[[ \\${'"'.repeat(3)}`, list: [1, [2]] });
  expect(await lengthOf((stdin) => stdin.end(input))).toBe(input.length);
  expect(
    await lengthOf((stdin) => {
      for (const byte of Buffer.from(input)) stdin.write(Buffer.of(byte));
      stdin.end();
    }),
  ).toBe(input.length);
  const prompt = JSON.stringify("x".repeat(4_000_000));
  expect(await lengthOf((stdin) => stdin.end(prompt))).toBe(prompt.length);
});

it("reads nothing of an input without end, or nested too deep", async () => {
  const piece = Buffer.alloc(1024 * 1024, 0x20);
  const pour = (stdin: NodeJS.WritableStream) => {
    stdin.write(piece, (error) => {
      if (!error) pour(stdin);
    });
  };
  expect(await lengthOf(pour)).toBe(0);
  expect(await lengthOf((stdin) => stdin.end("[".repeat(4_000_000)))).toBe(0);
  expect(await lengthOf((stdin) => stdin.end('{"a":'.repeat(300)))).toBe(0);
});
