import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { identifyPostmaster } from "./process-identity.ts";

const EMULATOR = "/usr/bin/qemu-aarch64-static";
let data: string;
let program: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "plimsoll-identity-"));
  program = join(data, "postgres");
  await writeFile(program, "process.stdout.write('up'); setInterval(() => {}, 1_000);");
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(data, { recursive: true, force: true });
});

// An emulator of another architecture shows itself as the first word of the command line.
it
  .skipIf(process.platform !== "linux")
  .each<[what: string, first: string, words: () => string[], identity: string]>([
    ["PostgreSQL below an emulator", EMULATOR, () => [program, "-D", data], "ours"],
    [
      "PostgreSQL below an emulator, of another folder",
      EMULATOR,
      () => [program, "-D", "/elsewhere"],
      "other",
    ],
    [
      "a program that has its words as arguments",
      EMULATOR,
      () => ["-e", "process.stdout.write('up'); setInterval(() => {}, 1_000)", "postgres", "-D", data],
      "other",
    ],
  ])("takes %s for what it is", async (_, argv0, words, identity) => {
  const child = spawn(process.execPath, words(), { argv0, stdio: ["ignore", "pipe", "ignore"], cwd: "/" });
  children.push(child);
  await once(child.stdout, "data");
  expect(await identifyPostmaster(child.pid!, data)).toBe(identity);
});
