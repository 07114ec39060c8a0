import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CreateKeyInput, KeyView } from "@plimsoll/protocol/api";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDemo, type DemoOptions } from "./run.ts";

let folder = "";
let stop: (() => Promise<void>) | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-demo-test-"));
});
afterEach(async () => {
  existing = [];
  await stop?.();
  stop = undefined;
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** Keys that are there already. */
let existing: KeyView[] = [];

/** A demo whose program is this text, run for real; the keys are noted. */
async function demoOf(text: string, options: Partial<DemoOptions> = {}) {
  const program = join(folder, "program.mjs");
  await writeFile(program, text);
  const made: CreateKeyInput[] = [];
  const revoked: string[] = [];
  const demo = createDemo({
    program,
    localUrl: () => "http://127.0.0.1:4999",
    keys: {
      list: async () => existing,
      create: async (_, input) => {
        made.push(input);
        return { id: `key-${made.length}`, secret: "plim_secret" } as never;
      },
      revoke: async (_, id) => {
        revoked.push(id);
        return {} as never;
      },
    },
    log: pino({ level: "silent" }),
    clock: Date.now,
    ...options,
  });
  stop = demo.close;
  return { demo, made, revoked, ended: () => until(() => demo.view(1).ended_at !== null) };
}

async function until(what: () => boolean): Promise<void> {
  for (let waited = 0; !what(); waited += 10) {
    if (waited > 20_000) throw new Error(`waited in vain for: ${what}`);
    await sleep(10);
  }
}

const EXAMPLES = ["phantom", "ouroboros", "autopilot", "watcher", "workers"];
const ALL_FINISH = `
for (const example of ${JSON.stringify(EXAMPLES)}) {
  process.send({ type: "running", example });
  process.send({ type: "session", example, harness: example + "@demo", session: "s", title: "A title" });
  process.send({ type: "finished", example, sent: 3, lost: 0 });
}`;
const NEVER_ENDS = `
process.send({ type: "running", example: "phantom" });
setInterval(() => {}, 1_000);`;

describe("the demo's process", () => {
  it("is followed to its end, and its key ends with it", async () => {
    const { demo, made, revoked, ended } = await demoOf(ALL_FINISH);
    expect(demo.view(1).state).toBe("idle");
    expect(demo.start(1, 0).state).toBe("starting");
    await ended();
    const { state, examples } = demo.view(1);
    expect(state).toBe("finished");
    expect(examples.map(({ name }) => name)).toEqual(EXAMPLES);
    expect(examples[0]!.sessions).toMatchObject([{ session: "s", title: "A title" }]);
    expect(made).toEqual([{ name: "demo fleet", scopes: ["ingest", "policy:read"] }]);
    expect(revoked).toEqual(["key-1"]);
    expect(demo.view(2).state).toBe("idle");
  });

  it("gets the server's address and its key by the environment, and nothing else of the server's", async () => {
    vi.stubEnv("DATABASE_URL", "postgresql://user:password@host/name");
    vi.stubEnv("OPENAI_API_KEY", "sk-real");
    vi.stubEnv("PLIMSOLL_HOME", "/somewhere");
    const seen = join(folder, "seen.json");
    const { demo, ended } = await demoOf(
      `import { writeFileSync } from "node:fs";
       const { argv, env } = process;
       writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ argv: argv.slice(2), cwd: process.cwd(), env }));
       ${ALL_FINISH}`,
    );
    demo.start(1, 0);
    await ended();
    const { argv, cwd, env } = JSON.parse(await readFile(seen, "utf8"));
    expect(argv).toEqual([]);
    expect(env).toMatchObject({ PLIMSOLL_URL: "http://127.0.0.1:4999", PLIMSOLL_KEY: "plim_secret" });
    expect(env.HOME).toBe(cwd);
    const allowed =
      /^(PATH|SystemRoot|HOME|USERPROFILE|TMPDIR|TEMP|TMP|NODE_ENV|PLIMSOLL_(URL|KEY|DEMO_MINUTES)|PWD|__CF.*)$/;
    expect(Object.keys(env).filter((name) => !allowed.test(name))).toEqual([]);
    expect(existsSync(cwd)).toBe(false);
  });

  it("is one at a time", async () => {
    const { demo, made } = await demoOf(NEVER_ENDS);
    demo.start(1, 0);
    expect(() => demo.start(1, 0)).toThrow("running already");
    await until(() => demo.view(1).state === "running");
    expect(() => demo.start(1, 0)).toThrow("running already");
    expect(made).toHaveLength(1);
  });

  it("is gone, and its key revoked, when a stop returns; then another may start", async () => {
    const { demo, revoked } = await demoOf(
      `process.on("SIGTERM", () => {});
       process.send({ type: "said", example: "phantom", text: String(process.pid) });
       ${NEVER_ENDS}`,
    );
    demo.start(1, 0);
    await until(() => demo.view(1).examples[0]?.said !== null && demo.view(1).state === "running");
    const pid = Number(demo.view(1).examples[0]!.said);
    expect((await demo.stop(1)).state).toBe("stopped");
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(revoked).toEqual(["key-1"]);
    expect(demo.start(1, 0).state).toBe("starting");
    await until(() => demo.view(1).state === "running");
  });

  it("may be stopped before it was there", async () => {
    const { demo, revoked } = await demoOf(NEVER_ENDS);
    demo.start(1, 0);
    expect((await demo.stop(1)).state).toBe("stopped");
    expect(revoked).toEqual(["key-1"]);
    expect(demo.view(1).examples[0]?.state).toBe("stopped");
  });

  it("is ended when it takes too long", async () => {
    const { demo, revoked, ended } = await demoOf(NEVER_ENDS, { spareMs: 300 });
    demo.start(1, 0);
    await ended();
    expect(demo.view(1)).toMatchObject({ state: "failed", failure: { reason: "timed_out" } });
    expect(revoked).toHaveLength(1);
  });

  it("that dies says its last words", async () => {
    const { demo, revoked, ended } = await demoOf(`${NEVER_ENDS}\nthrow new Error("no such model");`);
    demo.start(1, 0);
    await ended();
    expect(demo.view(1).failure?.message).toBe("Error: no such model");
    expect(revoked).toHaveLength(1);
  });

  it("takes away the keys of runs that nobody could end, and no other", async () => {
    const key = (id: string, name: string, ageMs: number, revoked: boolean): KeyView => ({
      id,
      name,
      prefix: "plim_",
      scopes: ["ingest", "policy:read"],
      harness: null,
      created_at: new Date(Date.now() - ageMs).toISOString(),
      last_used_at: null,
      revoked_at: revoked ? new Date().toISOString() : null,
      expires_at: null,
      replaced_by: null,
      person: null,
      own: false,
    });
    const day = 86_400_000;
    existing = [
      key("left behind", "demo fleet", day, false),
      key("over", "demo fleet", day, true),
      key("of another server", "demo fleet", 60_000, false),
      key("somebody's", "ci", day, false),
    ];
    const { demo, revoked, ended } = await demoOf(ALL_FINISH);
    demo.start(1, 0);
    await ended();
    expect(revoked).toEqual(["left behind", "key-1"]);
  });

  it("that cannot be prepared is a failure, not a hanging start", async () => {
    const create = () => Promise.reject(new Error("the database is away"));
    const { demo, ended } = await demoOf(ALL_FINISH, {
      keys: { create, list: async () => [], revoke: async () => ({}) as never },
    });
    demo.start(1, 0);
    await ended();
    expect(demo.view(1)).toMatchObject({ state: "failed", failure: { reason: "not_started" } });
  });
});
