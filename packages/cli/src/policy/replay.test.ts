import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreatedKey, ReplayResult, type ReplayView } from "@plimsoll/protocol/api";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../client.ts";
import { connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { createProgram } from "../program.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const POLICY = "settings:\n  thresholds: { warning: 20%, ceiling: 30%, soft: null, hard: null }\n";
const ID = "6a9b1f0e-1f7c-4a52-9a35-0a8f4f8b9a10";

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-replay-"));
  file = join(folder, "policy.yaml");
  await writeFile(file, POLICY);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ran {
  out: string;
  err: string;
}

/** Runs `plimsoll policy replay`. */
async function replay(
  env: Record<string, string>,
  args: readonly string[],
  { isTty = false, stop = new AbortController().signal } = {},
): Promise<Ran> {
  const ran: Ran = { out: "", err: "" };
  const terminal = (name: keyof Ran) => ({
    width: 120,
    isTty,
    color: false,
    write: (text: string) => {
      ran[name] += text;
    },
  });
  const program = createProgram({
    env,
    out: terminal("out"),
    err: terminal("err"),
    now: Date.now,
    untilStopped: () => stop,
  });
  await program.parseAsync(["node", "plimsoll", "policy", "replay", "--file", file, ...args]);
  return ran;
}

const failureOf = async (run: Promise<unknown>): Promise<CliError> => {
  const error = await run.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CliError);
  return error as CliError;
};

describe("plimsoll policy replay with a real server", () => {
  let server: Plimsoll;
  let env: Record<string, string>;

  beforeAll(async () => {
    server = await startPlimsoll();
    env = { PLIMSOLL_URL: server.url, PLIMSOLL_HOME: server.home };
    const client = createClient(await connect({}, env));
    const key = await client.mutate("keys.create", { name: "test", scopes: ["ingest"] }, CreatedKey);
    const events = Array.from({ length: 40 }, (_, at) => ({
      id: `t${at}`,
      type: "turn",
      at: Date.now() - (40 - at) * 60_000,
      harness: "phantom@test",
      session: "long",
      model: "claude-sonnet-4-5",
      context_window: 200_000,
      usage: { input_tokens: 10_000 + at * 3_000 },
    }));
    const answer = await fetch(`${server.url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${key.secret}`, "content-type": "application/json", prefer: "wait" },
      body: JSON.stringify(events),
    });
    expect(answer.status, await answer.text()).toBe(200);
  });
  afterAll(() => server?.stop());

  it("prints what happened beside the current policy and the candidate, and what it assumes", async () => {
    const { out, err } = await replay(env, []);
    expect(err).toBe("");
    expect(out).toContain("40 turns of 1 agent in 1 session.\nNone of these agents acknowledged a policy");
    expect(out).toMatch(/^ +happened +current +candidate$/m);
    expect(out).toMatch(/^maskings +0 +not run +\d+ in 1 session$/m);
    expect(out).toMatch(/^highest level +127k +not run +\S+$/m);
    expect(out).toMatch(/^phantom +200k +level after a compaction +25% +assumed, no history$/m);
  });

  it("prints JSON that programs can read", async () => {
    const result = ReplayResult.parse(JSON.parse((await replay(env, ["--json", "--family", "phantom"])).out));
    expect(result).toMatchObject({ turns: 40, sessions: 1, generation: 0 });
  });

  it("says so if nothing is recorded", async () => {
    const { out } = await replay(env, ["--harness", "nobody@1"]);
    expect(out).toContain("No recorded turns in this range");
    expect((await replay(env, ["--from", "2001-01-01", "--to", "2001-01-02"])).out).toContain(
      "No recorded turns",
    );
  });

  it("refuses a range that ends before it begins", async () => {
    const { message } = await failureOf(replay(env, ["--from", "2026-01-02", "--to", "2026-01-01"]));
    expect(message).toContain('"from" must lie before "to"');
  });
});

describe("plimsoll policy replay", () => {
  let server: Server | undefined;
  afterEach(() => new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve())));

  /** A server whose replays end as `status` says. Returns the calls that it got. */
  async function scripted(
    status: (asked: number) => Partial<ReplayView> | "gone",
  ): Promise<{ calls: string[]; env: Record<string, string> }> {
    const calls: string[] = [];
    let asked = 0;
    server = createServer((request, response) => {
      const path = request.url!.split("?")[0]!.replace("/api/trpc/", "");
      calls.push(path);
      request.resume().on("end", () => {
        const running = { id: ID, state: "running", done: 0, total: null, error: null, result: null };
        const view = path === "replays.status" ? status(++asked) : {};
        const state = path === "replays.cancel" ? { state: "cancelled" } : view;
        response.statusCode = state === "gone" ? 404 : 200;
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify([
            state === "gone"
              ? { error: { message: "There is no such replay.", code: -32004, data: { httpStatus: 404 } } }
              : { result: { data: { ...running, ...state } } },
          ]),
        );
      });
    });
    await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return { calls, env: { PLIMSOLL_URL: `http://127.0.0.1:${port}`, PLIMSOLL_KEY: "a-key" } };
  }

  it("shows its progress on a terminal, and ends the replay on the server at Ctrl+C", async () => {
    const stop = new AbortController();
    const { calls, env } = await scripted((asked) => {
      if (asked === 2) stop.abort();
      return { done: 1_200, total: 5_000 };
    });
    const ran: Ran = { out: "", err: "" };
    const run = replay(env, [], { isTty: true, stop: stop.signal }).then((result) =>
      Object.assign(ran, result),
    );
    const { message, exitCode } = await failureOf(run);
    expect({ message, exitCode }).toEqual({ message: "The replay was cancelled.", exitCode: 130 });
    expect(calls).toEqual(["replays.start", "replays.status", "replays.status", "replays.cancel"]);
  });

  it("ends the replay on the server if it cannot follow it", async () => {
    const { calls, env } = await scripted(() => "gone");
    await failureOf(replay(env, []));
    expect(calls.at(-1)).toBe("replays.cancel");
  });

  it("says why a replay failed", async () => {
    const { env } = await scripted(() => ({
      state: "failed",
      error: "The server could not finish the replay.",
    }));
    const { message, exitCode } = await failureOf(replay(env, []));
    expect(message).toBe("The replay failed: The server could not finish the replay.");
    expect(exitCode).toBe(1);
  });

  it("starts nothing with a file that has mistakes", async () => {
    const { calls, env } = await scripted(() => ({}));
    const wrong = join(folder, "wrong.yaml");
    await writeFile(wrong, "settings:\n  thresholds: { warning: 80%, ceiling: 50% }\n");
    const { message } = await failureOf(replay(env, ["--file", wrong]));
    expect(message).toContain("settings.thresholds.warning");
    expect(calls).toEqual([]);
  });
});
