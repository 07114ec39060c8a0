import { appendFile, mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEvent } from "@plimsoll/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CliError } from "../errors.ts";
import type { FakeServer } from "../testing/fake-server.ts";
import { json, startFakeServer } from "../testing/fake-server.ts";
import { FIXTURES, hasFixtures, json as lines } from "../testing/fold.ts";
import { runImport } from "./import.ts";
import { planImport } from "./plan.ts";
import { batches, retryAfter, sendBatch } from "./send.ts";
import { summaryLines } from "./summary.ts";
import { tail } from "./tail.ts";

interface Stored {
  type: string;
  status?: string;
  reason?: string;
  session: string;
  harness: string;
  [field: string]: unknown;
}

let folder: string;
let server: FakeServer;
/** Events stored by the fake server, keyed by session, agent and id. */
let stored: Map<string, Stored>;
let failures: ((response: Parameters<typeof json>[0]) => void)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-cli-"));
  stored = new Map();
  failures = [];
  server = await startFakeServer({
    routes: {
      "/api/v1/events": (request, response) => {
        const failure = failures.shift();
        if (failure !== undefined) {
          failure(response);
          return;
        }
        const answer = { accepted: 0, duplicates: 0, rejected: [] as unknown[] };
        (JSON.parse(request.body) as { id: string }[]).forEach((value, index) => {
          const parsed = parseEvent(value);
          if (!parsed.ok) {
            answer.rejected.push({ index, id: value.id, ...parsed.rejection });
            return;
          }
          const { session, agent, id } = parsed.event;
          const key = JSON.stringify([session, agent, id]);
          answer[stored.has(key) ? "duplicates" : "accepted"] += 1;
          stored.set(key, parsed.event as unknown as Stored);
        });
        json(response, 200, answer);
      },
    },
  });
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const connection = () => ({ url: server.url, token: "k", tokenSource: "--key" as const });
const options = { titles: true, harness: "test@host" };
const S = "11111111-1111-4111-8111-111111111111";
const said = (second: number, input: number, session = S) => ({
  type: "assistant",
  uuid: `u-${second}`,
  sessionId: session,
  isSidechain: false,
  timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
  message: { id: `m-${second}`, model: "claude-opus-5", content: [], usage: { input_tokens: input } },
});
const write = async (name: string, ...content: unknown[]) => {
  const path = join(folder, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, content.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  return path;
};

describe("plimsoll import", () => {
  it("imports a folder, ends its sessions, and changes nothing when repeated", async () => {
    await write(`p/${S}.jsonl`, said(1, 100), said(2, 200));
    await write(
      `p/${S}/subagents/agent-a1.jsonl`,
      { ...said(1, 100), isSidechain: true, agentId: "a1" },
      { ...said(3, 50), isSidechain: true, agentId: "a1" },
    );
    await write("notes.jsonl", { hello: "world" });
    await writeFile(join(folder, "empty.jsonl"), "");
    const run = async () => runImport(await planImport([folder]), connection(), options);

    const first = await run();
    expect(first).toMatchObject({ files: { "claude-code": 2 }, sessions: 1, agents: 2, events: 5 });
    expect(first.sent).toMatchObject({ accepted: 5, duplicates: 0, rejected: [] });
    expect([...stored.values()].filter((event) => event.status === "ended")).toMatchObject([
      { reason: "imported", session: S, harness: "test@host" },
    ]);
    expect(server.seen[0]!.authorization).toBe("Bearer k");
    const before = new Map(stored);

    const second = await run();
    expect(second.sent).toMatchObject({ accepted: 0, duplicates: 5 });
    expect(stored).toEqual(before);

    const text = summaryLines(first, await planImport([folder])).join("\n");
    expect(text).toContain("files       2 (claude-code 2)");
    expect(text).toContain("events      5: 5 accepted, 0 already known, 0 rejected");
    expect(text).toContain("replayed");
    expect(text).toMatch(/notes\.jsonl: unknown format/);
    expect(text).toMatch(/empty\.jsonl: empty/);
  });

  it("does not end a session that its recording ends", async () => {
    await write(
      "run.jsonl",
      { meta: { context_budget: 2_000, model: "m" } },
      {
        event: {
          event: "InferResult",
          op_id: 1,
          run_id: "r",
          timestamp: "2026-07-08T10:00:00Z",
          input_tokens: 5,
        },
      },
      { event: { event: "AgentDone", run_id: "r", timestamp: "2026-07-08T10:00:01Z" } },
    );
    await runImport(await planImport([folder]), connection(), options);
    expect([...stored.values()].filter((event) => event.status === "ended")).toMatchObject([
      { reason: "completed" },
    ]);
  });

  it("sends nothing in a dry run", async () => {
    await write(`${S}.jsonl`, said(1, 100));
    const summary = await runImport(await planImport([folder]), undefined, options);
    expect(summary).toMatchObject({ events: 3, sent: undefined });
    expect(server.seen).toEqual([]);
  });

  it("reads the window size of Ouroboros logs from ouro.toml or the flag", async () => {
    const usage = {
      event_type: "token_usage",
      timestamp: "2026-02-05T10:00:05Z",
      turn: 1,
      prompt_tokens: 900,
      completion_tokens: 5,
    };
    await write(".ouro-logs/session-2026-02-05T10-00-00.jsonl", usage);
    await writeFile(join(folder, "ouro.toml"), "[safety]\ncontext_limit = 8192\n");
    await runImport(await planImport([folder]), connection(), options);
    expect([...stored.values()].find((event) => event.type === "turn")).toMatchObject({
      context_window: 8_192,
      session: "session-2026-02-05T10-00-00",
    });
    const plan = await planImport([folder], { contextLimit: 4_096 });
    expect(plan.groups[0]!.files[0]!.contextLimit).toBe(4_096);
  });

  it("imports a single log of a chain into the session that it continues", async () => {
    const line = (hour: number, event_type: string, more: object = {}) => ({
      event_type,
      timestamp: `2026-02-05T${hour}:00:05Z`,
      ...more,
    });
    const usage = { turn: 1, prompt_tokens: 900, completion_tokens: 5 };
    await write(
      ".ouro-logs/session-2026-02-05T10-00-00.jsonl",
      line(10, "token_usage", usage),
      line(10, "session_end", { reason: "context_full_restart" }),
    );
    const second = await write(
      ".ouro-logs/session-2026-02-05T11-00-00.jsonl",
      line(11, "token_usage", usage),
    );
    const summary = await runImport(await planImport([second]), connection(), options);
    expect(summary.files).toEqual({ ouroboros: 1 });
    expect([...stored.values()].map((event) => [event.session, event.type])).toEqual([
      ["session-2026-02-05T10-00-00", "session"],
      ["session-2026-02-05T10-00-00", "turn"],
      ["session-2026-02-05T10-00-00", "session"],
    ]);
  });

  it("follows links to folders without cycles", async () => {
    await write(`real/${S}.jsonl`, said(1, 100));
    await symlink(join(folder, "real"), join(folder, "linked"));
    await symlink(folder, join(folder, "real", "up"));
    await symlink(folder, join(folder, "round"));
    await symlink(join(folder, "nowhere"), join(folder, "dangling.jsonl"));
    const plan = await planImport([folder]);
    expect(plan.groups.flatMap(({ files }) => files.map(({ location }) => location))).toEqual([
      join(folder, "real", `${S}.jsonl`),
    ]);
    expect(plan.unknown).toMatchObject([{ why: "unreadable" }]);
    expect((await planImport([join(folder, "linked")])).groups).toHaveLength(1);
  });

  it("names a missing path", async () => {
    await expect(planImport([join(folder, "nowhere")])).rejects.toThrow(
      /File or folder not found: .*nowhere/,
    );
  });

  it.skipIf(!hasFixtures)("the schema accepts every event of the real recordings", async () => {
    const { sent, events } = await runImport(await planImport([FIXTURES]), connection(), options);
    expect(sent).toMatchObject({ accepted: events, duplicates: 0, rejected: [] });
  });
});

describe("sending", () => {
  const event = {
    id: "1",
    type: "session",
    status: "started",
    at: 1_790_000_000_000,
    harness: "h",
    session: "s",
  } as const;
  const send = (waits: number[] = []) =>
    sendBatch(connection(), [event, { ...event, id: "2" }], {
      pause: async (ms) => void waits.push(ms),
      now: () => 0,
      random: () => 1,
      patienceMs: 15_000,
    });

  it("waits as long as it is asked to, and sends again", async () => {
    failures = [
      (response) => json(response, 429, {}, { "retry-after": "3" }),
      (response) => json(response, 503, {}, { "retry-after": new Date(7_000).toUTCString() }),
      (response) => void response.destroy(),
    ];
    const waits: number[] = [];
    expect(await send(waits)).toMatchObject({ accepted: 2 });
    expect(waits).toEqual([3_000, 7_000, 2_000]);
  });

  it("waits longer each time, also when the server always asks for one second", async () => {
    failures = Array.from({ length: 4 }, () => (response) => json(response, 503, {}, { "retry-after": "1" }));
    const waits: number[] = [];
    expect(await send(waits)).toMatchObject({ accepted: 2 });
    expect(waits).toEqual([1_000, 1_000, 2_000, 4_000]);
  });

  it.each([408, 429, 500, 502, 503, 504])("sends again after HTTP %d", async (status) => {
    failures = [(response) => json(response, status, {})];
    expect(await send()).toMatchObject({ accepted: 2 });
  });

  it("spreads its attempts", async () => {
    const waits: number[] = [];
    failures = [(response) => json(response, 503, {})];
    await sendBatch(connection(), [event], { pause: async (ms) => void waits.push(ms), random: () => 0 });
    expect(waits).toEqual([250]);
  });

  it("says why it waits and for how long", async () => {
    failures = [
      (response) =>
        json(
          response,
          503,
          { error: { code: "disk_full", message: "The disk is full." } },
          { "retry-after": "30" },
        ),
    ];
    const said: unknown[] = [];
    await sendBatch(connection(), [event], { pause: async () => {}, onWait: (...told) => said.push(told) });
    expect(said).toEqual([[30_000, expect.stringContaining("HTTP 503, The disk is full.")]]);
  });

  it("gives up when its patience is used up, with the reason", async () => {
    failures = Array.from({ length: 20 }, () => (response) => json(response, 503, {}));
    await expect(send()).rejects.toThrow(/refused the events: HTTP 503/);
  });

  it("does not repeat what waiting cannot cure", async () => {
    failures = [
      (response) =>
        json(response, 403, { error: { code: "forbidden_scope", message: "needs the scope ingest" } }),
    ];
    const error = await send().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CliError);
    expect((error as CliError).message).toContain("needs the scope ingest");
    expect(server.seen).toHaveLength(1);
  });

  it("halves what is too large", async () => {
    failures = [(response) => json(response, 413, {})];
    expect(await send()).toMatchObject({ accepted: 2 });
    expect(server.seen).toHaveLength(3);
  });

  it("goes in batches of at most a thousand", () => {
    expect([...batches(Array.from({ length: 2_001 }))].map((batch) => batch.length)).toEqual([
      1_000, 1_000, 1,
    ]);
  });

  it.each([
    ["5", 5_000],
    ["0", 0],
    ["Thu, 01 Jan 1970 00:00:02 GMT", 1_000],
    ["soon", undefined],
    [null, undefined],
  ])("reads Retry-After %j", (header, ms) => {
    expect(retryAfter(header, 1_000)).toBe(ms);
  });
});

describe("plimsoll tail", () => {
  const until = async (done: () => boolean) => {
    for (let tries = 0; tries < 500 && !done(); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(done()).toBe(true);
  };
  const turns = () => [...stored.values()].filter((event) => event.type === "turn").length;
  const START = Date.UTC(2026, 10, 20, 10, 0, 0);
  const onBegun = vi.fn();
  const following = (path: string, from = START) => {
    onBegun.mockClear();
    const begun = Date.now();
    const stop = new AbortController();
    const done = tail([path], connection(), {
      ...options,
      signal: stop.signal,
      now: () => from + Date.now() - begun,
      pollMs: 10,
      scanMs: 20,
      onBegun,
    });
    return async () => {
      stop.abort();
      await done;
    };
  };

  it("fails for a missing path", async () => {
    const signal = new AbortController().signal;
    const missing = tail([join(folder, "nowhere")], connection(), {
      ...options,
      signal,
      now: () => START,
      onBegun,
    });
    await expect(missing).rejects.toThrow("File or folder not found");
    expect(onBegun).not.toHaveBeenCalled();
  });

  it("follows appends, partial lines, new files, truncation and rotation, and resumes without duplicates", async () => {
    const path = await write(`${S}.jsonl`, said(1, 100));
    const stop = following(folder);
    await until(() => turns() === 1);
    expect(onBegun).toHaveBeenCalledTimes(1);

    const [half] = lines(said(2, 200));
    await appendFile(path, half!.slice(0, 40));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await appendFile(path, `${half!.slice(40)}\n`);
    await until(() => turns() === 2);

    await write("other.jsonl", said(3, 300, "22222222-2222-4222-8222-222222222222"));
    await until(() => turns() === 3);

    await truncate(path, 0);
    await appendFile(path, `${JSON.stringify(said(4, 400))}\n`);
    await until(() => turns() === 4);

    await rename(path, join(folder, "rotated.old"));
    await writeFile(
      path,
      lines(said(4, 400), said(5, 500), said(6, 600))
        .map((line) => `${line}\n`)
        .join(""),
    );
    await until(() => turns() === 6);
    expect([...stored.values()].some((event) => event.status === "ended")).toBe(false);
    await stop();

    const size = stored.size;
    const sent = server.seen.length;
    const again = following(folder);
    await until(() => server.seen.length > sent);
    await appendFile(path, `${JSON.stringify(said(7, 700))}\n`);
    await until(() => turns() === 7);
    expect(stored.size).toBe(size + 1);
    await again();
  });

  it("sends a changed turn again and an unchanged one once", async () => {
    const path = await write(`${S}.jsonl`, said(1, 100));
    const stop = following(path);
    await until(() => turns() === 1);
    const grown = said(1, 100);
    grown.message.usage = { input_tokens: 100, output_tokens: 9 } as never;
    await appendFile(path, `${JSON.stringify(grown)}\n`);
    const output = (event: Stored) => (event.usage as { output_tokens?: number } | undefined)?.output_tokens;
    await until(() => [...stored.values()].some((event) => output(event) === 9));
    expect(JSON.parse(server.seen.at(-1)!.body)).toHaveLength(1);
    await stop();
  });

  it("ends a silent session, which continues with new lines", async () => {
    const path = await write(`${S}.jsonl`, said(1, 100));
    const stop = following(path, START + 86_400_000);
    await until(() => [...stored.values()].some((event) => event.status === "ended"));
    const resumed = { ...said(2, 200), timestamp: new Date(START + 86_400_000).toISOString() };
    await appendFile(path, `${JSON.stringify(resumed)}\n`);
    await until(() => turns() === 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([...stored.values()].filter((event) => event.status === "ended")).toHaveLength(1);
    await stop();
  });

  it("retries during an outage", async () => {
    failures = [(response) => void response.destroy(), (response) => json(response, 503, {})];
    const path = await write(`${S}.jsonl`, said(1, 100));
    const stop = following(path);
    await until(() => turns() === 1);
    await stop();
  });
});
