import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeServer, json, startFakeServer } from "../testing/fake-server.ts";
import { IMPORT_OPTIONS, type ImportTarget, startImportTarget } from "../testing/import-target.ts";
import { followOpencode } from "./follow-opencode.ts";
import { opencodeServer } from "./opencode-server.ts";

const NOW = Date.UTC(2026, 10, 20, 10, 0, 0);
const WORK = "/home/me/work";

// Rows as a server of opencode 1.18.33 answers, without the fields that say nothing of levels.
const session = (id: string, more: object = {}) => ({
  id,
  directory: WORK,
  title: `Title of ${id}`,
  time: { created: NOW - 60_000, updated: NOW },
  ...more,
});
const message = (id: string, sessionID: string, input: number, more: object = {}) => ({
  id,
  sessionID,
  role: "assistant",
  parentID: `asked-${id}`,
  modelID: "scripted",
  providerID: "local",
  cost: 0.5,
  time: { created: NOW + input, completed: NOW + input + 20_000 },
  tokens: { input, output: 10, reasoning: 0, cache: { read: 0, write: 0 } },
  ...more,
});

/** A server of opencode with these sessions, of which the stream can be written and broken. */
class Opencode {
  readonly sessions = new Map<string, object>();
  readonly messages = new Map<string, object[]>();
  readonly streams = new Set<ServerResponse>();
  /** Answers to requests for the list of sessions that fail. */
  failures = 0;
  server!: FakeServer;

  async start(): Promise<this> {
    this.server = await startFakeServer({
      routes: {
        "/project": (_, response) => json(response, 200, [{ id: "p", worktree: WORK }, { id: "global" }]),
        "/config/providers": (_, response) =>
          json(response, 200, {
            providers: [
              { id: "local", models: { scripted: { limit: { context: 200_000, output: 8_000 } } } },
            ],
          }),
        "/session": (_, response) => {
          this.failures -= 1;
          if (this.failures >= 0) json(response, 500, {});
          else json(response, 200, [...this.sessions.values()]);
        },
        ...Object.fromEntries(
          ["a", "b", "c"].map((id) => [
            `/session/${id}/message`,
            (_: unknown, response: ServerResponse) => json(response, 200, this.messages.get(id) ?? []),
          ]),
        ),
        "/global/event": (_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.write('data: {"payload":{"type":"server.connected","properties":{}}}\n\n');
          this.streams.add(response);
          response.on("close", () => this.streams.delete(response));
        },
      },
    });
    return this;
  }

  /** Stores a message, and tells of it unless nobody listens. */
  say(info: ReturnType<typeof message>): void {
    const list = this.messages.get(info.sessionID) ?? [];
    this.messages.set(info.sessionID, [...list.filter((one) => !isOf(one, info.id)), { info, parts: [] }]);
    this.emit("message.updated", { info });
  }

  emit(type: string, properties: object): void {
    this.write(`data: ${JSON.stringify({ directory: WORK, payload: { type, properties } })}\n\n`);
  }

  write(text: string): void {
    for (const stream of this.streams) stream.write(text);
  }

  breakStream(): void {
    for (const stream of this.streams) stream.destroy();
  }
}

const isOf = (one: object, id: string) => (one as { info: { id: string } }).info.id === id;

describe("plimsoll tail of a server of opencode", () => {
  let opencode: Opencode;
  let target: ImportTarget;
  let stop: AbortController;
  let done: Promise<void>;
  let read: number[];
  let troubles: string[];
  beforeEach(async () => {
    opencode = await new Opencode().start();
    target = await startImportTarget();
    stop = new AbortController();
    read = [];
    troubles = [];
    done = Promise.resolve();
  });
  afterEach(async () => {
    stop.abort();
    await done.catch(() => {});
    opencode.breakStream();
    await Promise.all([opencode.server.close(), target.close()]);
  });

  const follow = () => {
    done = followOpencode(opencodeServer(opencode.server.url, "secret"), target.connection(), {
      ...IMPORT_OPTIONS,
      harness: "opencode@host",
      signal: stop.signal,
      now: () => NOW,
      retryMs: 10,
      onRead: (sessions) => read.push(sessions),
      onTrouble: (text) => troubles.push(text),
    });
    return done;
  };
  const turns = () => [...target.stored.values()].filter(({ type }) => type === "turn");
  const sent = () =>
    target.server.seen.flatMap(({ body }) =>
      body.split("\n").map((line) => (JSON.parse(line) as { id: string }).id),
    );
  const until = (check: () => unknown) => expect.poll(check, { interval: 20 });

  it("reads what is there and follows what comes, with the size of the window", async () => {
    opencode.sessions.set("a", session("a"));
    opencode.say(message("m1", "a", 1_000));
    void follow();
    await until(turns).toHaveLength(1);
    opencode.say(message("m2", "a", 0, { time: { created: NOW } }));
    opencode.say(message("m2", "a", 2_000, { time: { created: NOW } }));
    opencode.say(message("m2", "a", 2_000));
    opencode.say(message("m2", "a", 2_000, { tokens: { input: 2_000, output: 90 } }));
    await until(turns).toHaveLength(2);
    expect(turns()).toMatchObject([
      { id: "m1", session: "a", harness: "opencode@host", context_window: 200_000 },
      { id: "m2", at: NOW + 22_000, model: "scripted", usage: { input_tokens: 2_000 } },
    ]);
    expect(target.server.seen[0]?.authorization).toBe("Bearer k");
    expect(opencode.server.seen[0]?.authorization).toBe(`Basic ${btoa("opencode:secret")}`);
  });

  it("reads after a gap what it missed, and counts nothing twice", async () => {
    opencode.sessions.set("a", session("a"));
    opencode.say(message("m1", "a", 1_000));
    void follow();
    await until(turns).toHaveLength(1);
    opencode.breakStream();
    await until(() => opencode.streams.size).toBe(0);
    opencode.say(message("m2", "a", 2_000));
    opencode.sessions.set("b", session("b"));
    opencode.say(message("m3", "b", 3_000));
    await until(turns).toHaveLength(3);
    await until(() => read).toEqual([1, 2]);
    expect(sent().filter((id) => id === "m1")).toHaveLength(1);
    expect(troubles).toContain("The stream of events is closed.");
  });

  it("waits with events until it knows which sessions are sub-agents", async () => {
    opencode.sessions.set("a", session("a"));
    opencode.sessions.set("b", session("b", { parentID: "a" }));
    opencode.failures = 5;
    void follow();
    await until(() => opencode.streams.size).toBe(1);
    opencode.say(message("m1", "b", 1_000));
    opencode.emit("session.created", { info: session("c", { parentID: "b" }) });
    opencode.say(message("m2", "c", 500));
    await until(turns).toHaveLength(2);
    expect(turns()).toMatchObject([
      { session: "a", agent: "agent-b", parent_agent: "main", own_session: "b" },
      { session: "a", agent: "agent-c", parent_agent: "agent-b", own_session: "c" },
    ]);
    expect(troubles[0]).toContain("/session answered HTTP 500");
  });

  it("knows a compaction by the message with its summary, whoever asked for it", async () => {
    opencode.sessions.set("a", session("a"));
    void follow();
    await until(() => read).toEqual([0 + 1]);
    const part = { id: "p", sessionID: "a", messageID: "asked-m1", type: "compaction", auto: false };
    opencode.emit("message.part.updated", { part });
    opencode.say(message("m1", "a", 9_000, { summary: true }));
    opencode.emit("session.compacted", { sessionID: "a" });
    const compactions = () => [...target.stored.values()].filter(({ type }) => type === "compacted");
    await until(compactions).toMatchObject([{ id: "compacted/m1", trigger: "manual" }]);
    expect(turns()).toMatchObject([{ id: "m1", purpose: "compaction" }]);
  });

  it("leaves sessions that are old, and survives a stream of anything", async () => {
    opencode.sessions.set("a", session("a", { time: { created: 1, updated: NOW - 25 * 3_600_000 } }));
    opencode.sessions.set("b", session("b"));
    opencode.messages.set("a", [{ info: message("old", "a", 5), parts: [] }]);
    void follow();
    await until(() => read).toEqual([1]);
    for (const text of [
      "data: {\n\n",
      "data: []\n\n",
      'data: {"payload":7}\n\n',
      'data: {"payload":{"type":"message.updated","properties":{"info":null}}}\n\n',
      'data: {"payload":{"type":"message.updated","properties":{"info":{"role":"assistant"}}}}\n\n',
      `: ${"x".repeat(3_000_000)}\n\n`,
    ])
      opencode.write(text);
    const bare = JSON.stringify({
      type: "message.updated",
      properties: { info: message("m1", "b", 700, { tokens: { input: 700, output: "x", cache: 4 } }) },
    });
    for (const half of [bare.slice(0, 40), bare.slice(40)])
      opencode.write(half === bare.slice(40) ? `${half}\n\n` : `data: ${half}`);
    await until(turns).toMatchObject([{ id: "m1", usage: { input_tokens: 700 } }]);
  });

  it("waits for Plimsoll, and ends if it refuses the events for good", async () => {
    opencode.sessions.set("a", session("a"));
    opencode.say(message("m1", "a", 1_000));
    target.failures.push((response) => json(response, 503, {}));
    const ended = follow();
    await until(turns).toHaveLength(1);
    target.failures.push((response) =>
      json(response, 401, { error: { code: "unauthorized", message: "no" } }),
    );
    opencode.say(message("m2", "a", 2_000));
    await expect(ended).rejects.toThrow("HTTP 401");
  });
});

describe("the address of a server of opencode", () => {
  it("may hold a user and a password, which go into no message", async () => {
    const server = opencodeServer("http://me:p%40ss@127.0.0.1:9/base/", undefined);
    await expect(server.read("/session?limit=1")).rejects.toThrow(/^(?!.*ss@)/);
  });
});
