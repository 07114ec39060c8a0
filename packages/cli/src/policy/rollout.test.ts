import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreatedKey, type PolicyAnswer } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../client.ts";
import { connect } from "../connection.ts";
import { createProgram } from "../program.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";
import { rolloutPlanOf } from "./rollout.ts";

describe("the options of a rollout", () => {
  it.each([
    [{}, undefined],
    [{ canary: "10%" }, { strategy: "canary", share: 0.1, harnesses: [], bake_s: 600 }],
    [
      { canary: "a@1, b@1", bake: 60 },
      { strategy: "canary", share: 0, harnesses: ["a@1", "b@1"], bake_s: 60 },
    ],
    [{ linear: 0.25 }, { strategy: "linear", share: 0.25, bake_s: 600, halt: { rejections: 1, rise: 2 } }],
    [{ linear: 0.5, haltRejections: 3, haltRise: null }, { halt: { rejections: 3, rise: null } }],
  ])("%o", (flags, plan) => {
    if (plan === undefined) expect(rolloutPlanOf(flags)).toBeUndefined();
    else expect(rolloutPlanOf(flags)).toMatchObject(plan);
  });

  it.each([
    [{ bake: 60 }, "Without --canary or --linear"],
    [{ canary: "" }, "share: name harnesses"],
    [{ canary: "100%" }, "share: offer it to less than 100 %"],
    [{ linear: 0.001 }, "share: add at least 1 %"],
    [{ canary: "10%", haltRejections: Number.NaN }, "halt.rejections"],
  ])("refuses %o", (flags, message) => {
    expect(() => rolloutPlanOf(flags)).toThrow(message);
  });
});

describe("plimsoll policy rollout with a real server", () => {
  let server: Plimsoll;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plimsoll-rollout-"));
    file = join(folder, "policy.yaml");
    await writeFile(file, "settings: { thresholds: { ceiling: 70% } }\n");
    server = await startPlimsoll();
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function plimsoll(...args: string[]): Promise<string> {
    let text = "";
    const out = {
      width: 120,
      isTty: false,
      color: false,
      write: (more: string) => {
        text += more;
      },
    };
    const program = createProgram({
      env: { PLIMSOLL_URL: server.url, PLIMSOLL_HOME: server.home },
      out,
      err: { ...out, write: () => undefined },
      now: Date.now,
      untilStopped: () => new AbortController().signal,
    });
    program.exitOverride();
    await program.parseAsync(["node", "plimsoll", "policy", ...args]);
    return text;
  }

  it("starts in steps, says how far it is, and is halted, resumed and advanced", async () => {
    expect(await plimsoll("rollout")).toBe("No policy has been rolled out in steps.\n");
    await expect(plimsoll("rollout", "--halt")).rejects.toThrow("No policy has been rolled out");
    expect(await plimsoll("set", file, "-m", "a trial", "--linear", "50%", "--bake", "2h")).toBe(
      "Saved as generation 1.\nIt is offered to 0 of 0 connected harnesses first.\nFollow its rollout with: npx plimsoll policy rollout\n",
    );
    expect(await plimsoll("rollout")).toBe(
      "Generation 1: running\nStep 1 of 2: offered to 50.0% of the harnesses; 0 of 0 connected harnesses, 0 of them run it\nThe next step waits until a harness of this step is connected.\n",
    );
    expect(await plimsoll("watch", "--once")).toContain("Generation 1: running\n");
    expect(await plimsoll("rollout", "--halt")).toContain(
      "Generation 1: halted, because somebody halted it\n",
    );
    await expect(plimsoll("rollout", "--advance")).rejects.toThrow("has changed meanwhile");
    expect(await plimsoll("rollout", "--resume")).toContain("Generation 1: running\n");
    expect(await plimsoll("rollout", "--advance")).toContain("Generation 1: finished\n");
    expect(JSON.parse(await plimsoll("rollout", "--json"))).toMatchObject({ rollout: { state: "finished" } });
    expect(await plimsoll("watch", "--once")).not.toContain("Generation 1");
  });

  it("names the harness that rejected it", async () => {
    const harness = "phantom@vm-3";
    await plimsoll("set", file, "-m", "a trial", "--canary", harness);
    const client = createClient(await connect({}, { PLIMSOLL_URL: server.url, PLIMSOLL_HOME: server.home }));
    const key = await client.mutate(
      "keys.create",
      { name: "test", scopes: ["ingest", "policy:read"] },
      CreatedKey,
    );
    const headers = { authorization: `Bearer ${key.secret}`, "content-type": "application/json" };
    const asked = await fetch(`${server.url}/api/v1/policy?harness=${encodeURIComponent(harness)}`, {
      headers,
    });
    const { generation, hash } = (await asked.json()) as PolicyAnswer;
    const at = Date.now();
    const refusal = { status: "rejected", code: "out_of_bounds", message: "at most 60%" };
    const events = [
      { id: "hello", type: "harness", at, harness, status: "hello", name: "phantom" },
      { id: "ack", type: "policy_ack", at, harness, generation, hash, ...refusal },
    ];
    const sent = await fetch(`${server.url}/api/v1/events`, {
      method: "POST",
      headers,
      body: JSON.stringify(events),
    });
    expect(await sent.json()).toMatchObject({ accepted: 2 });
    await expect
      .poll(() => plimsoll("rollout"))
      .toMatch(/halted, because a harness rejected it\n.*\n.*phantom@vm-3 rejected it: at most 60%\n/);
    expect(await plimsoll("rollout", "--resume")).toContain(
      "All harnesses of this step rejected it, so nobody is left to apply it. Roll it back, or go on with --next-set.\n",
    );
    await expect(plimsoll("rollout", "--next-set")).rejects.toThrow("offered this version already");
  });
});
