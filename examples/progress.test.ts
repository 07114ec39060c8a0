import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-progress-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const progress = JSON.stringify(new URL("./progress.ts", import.meta.url).href);
const tsx = JSON.stringify(import.meta.resolve("tsx"));

/**
 * Starts a parent process with an IPC channel whose child runs `text` with the functions of progress.ts. `parentCode`
 * runs in the parent.
 */
async function startParent(text: string, parentCode: string) {
  const program = join(folder, "program.mjs");
  const parent = join(folder, "parent.mjs");
  await writeFile(
    program,
    `import { exitWithParent, sessionReporter, reportProgress } from ${progress};\nexitWithParent();\n${text}`,
  );
  await writeFile(
    parent,
    `import { spawn } from "node:child_process";
     const stdio = ["ignore", "ignore", "inherit", "ipc"];
     const child = spawn(process.execPath, ["--import", ${tsx}, ${JSON.stringify(program)}], { stdio });
     ${parentCode}`,
  );
  return spawn(process.execPath, [parent], { stdio: ["ignore", "pipe", "inherit"] });
}

it("the demo exits with its parent process, even if the parent is killed", async () => {
  const parent = await startParent(
    "reportProgress({ pid: process.pid }); setInterval(() => {}, 1_000);",
    'child.on("message", ({ pid }) => process.stdout.write(String(pid)));',
  );
  const pid = await new Promise<number>((resolve) => {
    parent.stdout.once("data", (text: Buffer) => resolve(Number(text.toString())));
  });
  parent.kill("SIGKILL");
  const isThere = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  for (let waited = 0; isThere(); waited += 20) {
    expect(waited, "ms that it outlived its parent").toBeLessThan(20_000);
    await sleep(20);
  }
});

it("reports each session once and again with its title, then exits", async () => {
  const parent = await startParent(
    `const hear = sessionReporter("phantom");
     const event = { type: "turn", harness: "phantom@demo", session: "a" };
     for (const one of [{ type: "harness", harness: "phantom@demo" }, event, event, { ...event, title: "A thread" }, event])
       hear(JSON.stringify(one));`,
    `const heard = [];
     child.on("message", (one) => heard.push(one));
     child.on("close", (code) => process.stdout.write(JSON.stringify({ code, heard })));`,
  );
  let printed = "";
  for await (const text of parent.stdout) printed += text;
  const told = { type: "session", example: "phantom", harness: "phantom@demo", session: "a" };
  expect(JSON.parse(printed)).toEqual({
    code: 0,
    heard: [
      { ...told, title: null },
      { ...told, title: "A thread" },
    ],
  });
});
