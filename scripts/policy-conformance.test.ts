import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playCase, readCases } from "./policy-conformance.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const cases = await readCases();
const SHELL_CAN = new Set(["bounds"]);
const missing = ["jq", "curl", "sha256sum"].filter((tool) => spawnSync("which", [tool]).status !== 0);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "policy-client-"));
  await build({
    entryPoints: [here("./policy-conformance-client.ts")],
    tsconfig: here("../tsconfig.json"),
    outfile: join(folder, "client.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the guard as a client of policies", { concurrent: true }, () => {
  it.each(cases)("$title ($name)", async (one) => {
    expect(await playCase(one, [process.execPath, join(folder, "client.mjs")])).toBeUndefined();
  });
});

// Without its tools the shell client cannot run: apt-get install jq.
describe.skipIf(missing.length > 0)("the shell client", { concurrent: true }, () => {
  const core = cases.filter(({ needs }) => needs.every((need) => SHELL_CAN.has(need)));

  it.each(core)("$title ($name)", async (one) => {
    expect(await playCase(one, ["sh", here("../docs/policy-conformance/client.sh")])).toBeUndefined();
  });
});
