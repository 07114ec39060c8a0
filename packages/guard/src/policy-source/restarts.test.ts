import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGuard } from "../guard.ts";
import { backgroundFetch, filePolicyStore } from "../node/index.ts";
import { checkPolicy } from "../policy/check-options.ts";
import { childProgram, runChild } from "../testing/child-process.ts";
import {
  answerWith,
  POLICY_HARNESS,
  POLICY_KEY,
  PolicyServer,
  policyBody,
} from "../testing/policy-server.ts";
import { until } from "../testing/until.ts";
import { type PolicySource, type PolicySourceOptions, policySource } from "./index.ts";

/** A disk can be mounted only as root on Linux, and not in every container. */
const canMount =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["-m", "true"]).status === 0;

let server: PolicyServer;
let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  server = await new PolicyServer().start();
  folder = await mkdtemp(join(tmpdir(), "guard-policy-"));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
  expect(server.violations).toEqual([]);
});

function begin(options: Partial<PolicySourceOptions> = {}) {
  const guard = createGuard({ identity: { harness: POLICY_HARNESS }, window: 10_000 });
  const troubles: string[] = [];
  const source: PolicySource = policySource({
    url: server.url,
    key: POLICY_KEY,
    harness: POLICY_HARNESS,
    guard,
    store: filePolicyStore(folder),
    pollMs: 40,
    retryMs: 10,
    onTrouble: (message) => troubles.push(message),
    ...options,
  });
  closing.push(() => source.close());
  return { guard, source, troubles };
}

const path = async () => join(folder, (await readdir(folder)).find((name) => name.endsWith(".json"))!);

async function stored(settings = { thresholds: { ceiling: "50%" } }): Promise<string> {
  server.save(settings);
  const { source } = begin();
  await until(() => source.generation === server.generation);
  await source.close();
  return path();
}

describe("after a restart of the process", () => {
  it("the last good policy is in force although the server is away", async () => {
    await stored();
    const away = answerWith(503);
    server.fault = away;
    server.streamFault = away;
    const { guard, source } = begin();
    await source.ready;
    expect(guard.policy.thresholds?.ceiling).toBe("50%");
    expect(source.generation).toBe(1);
  });

  it("a refused policy is not tried again, until the harness's limits or the generation change", async () => {
    await stored();
    server.save({ thresholds: { ceiling: "95%" } });
    const bounds = { "thresholds.ceiling": { max: "60%" } };
    const acks: unknown[] = [];
    const reporter = { record: (event: unknown) => acks.push((event as { status: string }).status) };
    const first = begin({ bounds, reporter });
    await until(() => first.source.refused !== undefined);
    await first.source.close();
    expect(acks).toEqual(["applied", "rejected"]);
    const again = begin({ bounds, reporter });
    await again.source.check();
    expect(acks).toEqual(["applied", "rejected", "applied"]);
    expect(again.source).toMatchObject({ generation: 1, refused: { generation: 2 } });
    await again.source.close();
    const wider = begin({ bounds: { "thresholds.ceiling": { max: "99%" } } });
    await until(() => wider.source.generation === 2);
  });

  it("an unhealthy policy is not started from", async () => {
    await stored();
    server.save({ thresholds: { ceiling: "5%" } });
    const { source } = begin({ healthy: () => false, healthMs: 40 });
    await until(() => source.refused?.code === "unhealthy");
    await source.close();
    const { source: again, guard } = begin();
    await again.check();
    expect(guard.policy.thresholds?.ceiling).toBe("50%");
  });

  it.each([
    ["truncated", (text: string) => text.slice(0, text.length / 2)],
    ["empty", () => ""],
    ["corrupted", (text: string) => text.replace("50%", "51%")],
    ["of a newer format", (text: string) => text.replace('"format":1', '"format":2')],
    ["of another server", (text: string) => text.replaceAll("127.0.0.1", "127.0.0.2")],
    ["no JSON", () => "\u0000\u0001"],
  ])("a file that is %s is ignored with a warning", async (_, spoil) => {
    const file = await stored();
    await writeFile(file, spoil(await readFile(file, "utf8")));
    server.fault = answerWith(500);
    const { source, guard, troubles } = begin();
    await source.ready;
    expect(guard.policy).toEqual({});
    expect(troubles[0]).toContain("The stored policy was ignored");
    server.fault = undefined;
    await until(() => source.generation === 1);
  });

  it("the file is the owner's alone, and no draft stays", async () => {
    const file = await stored();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it("a draft of a process that was killed before the rename is harmless", async () => {
    const file = await stored();
    await writeFile(`${file}.1-dead.tmp`, '{"format":1,"che');
    server.fault = answerWith(500);
    const { source } = begin();
    await source.ready;
    expect(source.generation).toBe(1);
  });

  it("a folder that cannot be written stops nothing", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    server.save({ thresholds: { ceiling: "50%" } });
    const { source, troubles } = begin({ store: filePolicyStore(join(file, "policies")) });
    await until(() => source.generation === 1 && troubles.some((one) => one.includes("cannot be stored")));
  });

  it.skipIf(!canMount)("a full disk stops nothing, and what was stored stays whole", async () => {
    const disk = await mkdtemp(join(tmpdir(), "guard-disk-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", disk]);
    try {
      server.save({ thresholds: { ceiling: "50%" } });
      const { source, troubles } = begin({ store: filePolicyStore(disk) });
      await until(() => source.generation === 1);
      await expect.poll(() => readdir(disk)).toEqual([expect.stringMatching(/\.json$/)]);
      await writeFile(join(disk, "filler"), Buffer.alloc(65_536)).catch(() => {});
      server.save({ thresholds: { ceiling: "40%" } });
      await until(() => source.generation === 2 && troubles.some((one) => one.includes("ENOSPC")));
      await source.close();
      expect((await readdir(disk)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
      server.fault = answerWith(500);
      const again = begin({ store: filePolicyStore(disk) });
      await again.source.ready;
      expect(again.source.generation).toBe(1);
      await again.source.close();
    } finally {
      execFileSync("umount", ["--lazy", disk]);
      await rm(disk, { recursive: true, force: true });
    }
  });

  it("two processes that share a folder leave a whole file", async () => {
    const program = await childProgram(
      folder,
      `import { filePolicyStore } from "@plimsoll/guard/node";
       const store = filePolicyStore(process.argv[2]);
       for (let n = 0; n < 60; n++) await store.write("bot", JSON.stringify({ n, text: "x".repeat(20_000) }));`,
    );
    const shared = join(folder, "shared");
    const ends = await Promise.all([runChild(program, shared), runChild(program, shared)]);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect(await readdir(shared)).toHaveLength(1);
    expect(JSON.parse((await filePolicyStore(shared).read("bot"))!)).toMatchObject({ n: 59 });
  });

  it("two guards in one process keep one file whole and both follow", async () => {
    server.save({ thresholds: { ceiling: "50%" } });
    const [one, other] = [begin(), begin()];
    await until(() => one.source.generation === 1 && other.source.generation === 1);
    server.save({ thresholds: { ceiling: "40%" } });
    await until(() => one.source.generation === 2 && other.source.generation === 2);
    await Promise.all([one.source.close(), other.source.close()]);
    expect(JSON.parse(await readFile(await path(), "utf8"))).toMatchObject({
      content: { good: { generation: 2 } },
    });
  });
});

it("an open stream does not keep the process alive", async () => {
  server.save({ thresholds: { ceiling: "50%" } });
  const program = await childProgram(
    folder,
    `import { createGuard } from "@plimsoll/guard";
     import { backgroundFetch } from "@plimsoll/guard/node";
     import { policySource } from "@plimsoll/guard/policy-source";
     const [, , url, key, harness] = process.argv;
     const guard = createGuard({ identity: { harness } });
     const busy = setInterval(() => {}, 1_000);
     policySource({ url, key, harness, guard, fetch: backgroundFetch, onChange: (_, generation) => {
       console.log("runs", generation);
       setTimeout(() => clearInterval(busy), 100);
     } });`,
  );
  const { code, stdout, stderr } = await runChild(program, server.url, POLICY_KEY, POLICY_HARNESS);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "runs 1\n", stderr: "" });
});

it("a clock that jumps neither stops the subscription nor orders acknowledgements wrongly", async () => {
  let now = 1_900_000_000_000;
  const at: number[] = [];
  const { source } = begin({
    clock: () => now,
    reporter: { record: (event) => at.push(event.at as number) },
    fetch: backgroundFetch,
  });
  for (const jump of [0, -86_400_000_000, 864_000_000, -1]) {
    now += jump;
    server.save({ thresholds: { ceiling: `${30 + server.generation}%` } });
    await until(() => source.generation === server.generation);
  }
  expect(at).toEqual([...new Set(at)].sort((one, other) => one - other));
  expect(at).toHaveLength(4);
});

const threshold = fc.oneof(
  fc.constant(null),
  fc.integer({ min: -20_000, max: 20_000 }),
  fc.integer({ min: 0, max: 120 }).map((share) => `${share}%`),
  fc.record({ percent: fc.integer({ min: 1, max: 100 }), floor: fc.integer({ min: 1, max: 9_000 }) }),
);
const settings = fc.record(
  {
    enforcement: fc.constantFrom("enforce", "warn_only", "never"),
    thresholds: fc.dictionary(fc.constantFrom("ceiling", "hard", "dawn"), threshold),
    masking: fc.oneof(
      fc.record({ enabled: fc.boolean(), keep_turns: fc.integer({ min: -1, max: 9 }) }),
      fc.constant(7),
    ),
    restart: fc.record({ max: fc.option(fc.integer({ min: 0, max: 9 })) }),
  },
  { requiredKeys: [] },
);
const answer = fc.oneof(
  { weight: 4, arbitrary: fc.record({ generation: fc.integer({ min: 0, max: 6 }), settings }) },
  { weight: 1, arbitrary: fc.constantFrom("", "{}", "<html>", '{"generation":9,"hash":"x","settings":{}}') },
);

it("any sequence of answers leaves a policy that is valid and within the bounds", async () => {
  const max = { percent: 60, floor: 1 };
  const within = (value: unknown) =>
    typeof value === "object" && value !== null
      ? (value as { percent: number }).percent <= max.percent
      : Number.parseFloat(value as string) <= 60;
  const property = fc.asyncProperty(
    fc.array(answer, { maxLength: 8 }),
    fc.constantFrom("reject", "clamp"),
    async (answers, onOutOfBounds) => {
      const bodies = answers.map((one) =>
        typeof one === "string" ? one : policyBody(one.generation, one.settings),
      );
      const guard = createGuard({
        identity: { harness: POLICY_HARNESS },
        policy: { thresholds: { ceiling: "55%" } },
      });
      let body = "";
      const source = policySource({
        url: "http://policy.test",
        key: "k",
        harness: POLICY_HARNESS,
        guard,
        restoredMs: 0,
        onOutOfBounds: onOutOfBounds as "reject" | "clamp",
        bounds: { "thresholds.ceiling": { max: "60%" }, enforcement: { oneOf: ["enforce"] } },
        fetch: async (url) =>
          String(url).includes("/live")
            ? new Response(null, { status: 404 })
            : new Response(body, { status: 200 }),
      });
      for (body of bodies) {
        await source.check();
        expect(() => checkPolicy(guard.policy)).not.toThrow();
        expect(guard.policy.mode ?? "enforce").toBe("enforce");
        expect(within(guard.policy.thresholds?.ceiling), JSON.stringify(guard.policy)).toBe(true);
        expect(source.settings.thresholds?.ceiling).toEqual(guard.policy.thresholds?.ceiling);
      }
      await source.close();
    },
  );
  await fc.assert(property, { numRuns: 200 });
});
