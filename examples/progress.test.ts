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

/** Runs `text` with the functions of progress.ts under a starter with an IPC channel; gives what the starter heard. */
async function started(text: string, hearing: string) {
  const program = join(folder, "program.mjs");
  const starter = join(folder, "starter.mjs");
  await writeFile(
    program,
    `import { endWithStarter, sessionTeller, tell } from ${progress};\nendWithStarter();\n${text}`,
  );
  await writeFile(
    starter,
    `import { spawn } from "node:child_process";
     const stdio = ["ignore", "ignore", "inherit", "ipc"];
     const child = spawn(process.execPath, ["--import", ${tsx}, ${JSON.stringify(program)}], { stdio });
     ${hearing}`,
  );
  return spawn(process.execPath, [starter], { stdio: ["ignore", "pipe", "inherit"] });
}

it("the demo ends with whoever started it, even one that is killed", async () => {
  const starter = await started(
    "tell({ pid: process.pid }); setInterval(() => {}, 1_000);",
    'child.on("message", ({ pid }) => process.stdout.write(String(pid)));',
  );
  const pid = await new Promise<number>((resolve) => {
    starter.stdout.once("data", (text: Buffer) => resolve(Number(text.toString())));
  });
  starter.kill("SIGKILL");
  const isThere = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  for (let waited = 0; isThere(); waited += 20) {
    expect(waited, "ms it outlived its starter").toBeLessThan(20_000);
    await sleep(20);
  }
});

it("tells of each session once, and again with its title, then ends by itself", async () => {
  const starter = await started(
    `const hear = sessionTeller("phantom");
     const event = { type: "turn", harness: "phantom@demo", session: "a" };
     for (const one of [{ type: "harness", harness: "phantom@demo" }, event, event, { ...event, title: "A thread" }, event])
       hear(JSON.stringify(one));`,
    `const heard = [];
     child.on("message", (one) => heard.push(one));
     child.on("close", (code) => process.stdout.write(JSON.stringify({ code, heard })));`,
  );
  let printed = "";
  for await (const text of starter.stdout) printed += text;
  const told = { type: "session", example: "phantom", harness: "phantom@demo", session: "a" };
  expect(JSON.parse(printed)).toEqual({
    code: 0,
    heard: [
      { ...told, title: null },
      { ...told, title: "A thread" },
    ],
  });
});
