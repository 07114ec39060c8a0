import { appendFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CompiledMapping, compileMapping, RecordMapping } from "@plimsoll/protocol/mapping";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { json as lines } from "../../../harnesses/src/testing/fold.ts";
import { json } from "../testing/fake-server.ts";
import {
  IMPORT_OPTIONS,
  type ImportTarget,
  SESSION,
  type Stored,
  startImportTarget,
  turnLine,
} from "../testing/import-target.ts";
import { tail } from "./tail.ts";

let target: ImportTarget;
beforeEach(async () => {
  target = await startImportTarget();
});
afterEach(() => target.close());

describe("plimsoll tail", () => {
  const turns = () => [...target.stored.values()].filter((event) => event.type === "turn").length;
  const START = Date.UTC(2026, 10, 20, 10, 0, 0);
  const onBegun = vi.fn();
  const onSkipped = vi.fn();
  const following = (path: string, from = START, mapping?: CompiledMapping, scanMs = 20) => {
    onBegun.mockClear();
    const begun = Date.now();
    const stop = new AbortController();
    const done = tail([path], target.connection(), {
      ...IMPORT_OPTIONS,
      signal: stop.signal,
      now: () => from + Date.now() - begun,
      pollMs: 10,
      scanMs,
      onBegun,
      onSkipped,
      mapping,
    });
    return async () => {
      stop.abort();
      await done;
    };
  };

  it("fails for a missing path", async () => {
    const signal = new AbortController().signal;
    const missing = tail([join(target.folder, "nowhere")], target.connection(), {
      ...IMPORT_OPTIONS,
      signal,
      now: () => START,
      onBegun,
    });
    await expect(missing).rejects.toThrow("File or folder not found");
    expect(onBegun).not.toHaveBeenCalled();
  });

  it("follows appends, partial lines, new files, truncation and rotation, and resumes without duplicates", async () => {
    const path = await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    const stop = following(target.folder);
    await until(() => turns() === 1);
    expect(onBegun).toHaveBeenCalledTimes(1);

    const [half] = lines(turnLine(2, 200));
    await appendFile(path, half!.slice(0, 40));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await appendFile(path, `${half!.slice(40)}\n`);
    await until(() => turns() === 2);

    await target.write("other.jsonl", turnLine(3, 300, "22222222-2222-4222-8222-222222222222"));
    await until(() => turns() === 3);

    await truncate(path, 0);
    await appendFile(path, `${JSON.stringify(turnLine(4, 400))}\n`);
    await until(() => turns() === 4);

    await rename(path, join(target.folder, "rotated.old"));
    await writeFile(
      path,
      lines(turnLine(4, 400), turnLine(5, 500), turnLine(6, 600))
        .map((line) => `${line}\n`)
        .join(""),
    );
    await until(() => turns() === 6);
    expect([...target.stored.values()].some((event) => event.status === "ended")).toBe(false);
    await stop();

    const size = target.stored.size;
    const sent = target.server.seen.length;
    const again = following(target.folder);
    await until(() => target.server.seen.length > sent);
    await appendFile(path, `${JSON.stringify(turnLine(7, 700))}\n`);
    await until(() => turns() === 7);
    expect(target.stored.size).toBe(size + 1);
    await again();
  });

  it("follows a document that its harness rewrites as a whole", async () => {
    const message = (id: number) => ({
      role: "assistant",
      messageId: id,
      usage: { model: "m", inputTokens: id, timestamp: new Date(START + id * 1_000).toISOString() },
    });
    const path = join(target.folder, "T-1.json");
    const rewrite = (...messages: object[]) =>
      writeFile(path, JSON.stringify({ id: "T-1", created: START, messages }));
    await rewrite(message(1));
    const stop = following(target.folder);
    await until(() => turns() === 1);
    await rewrite(message(1), message(2));
    await until(() => turns() === 2);
    await stop();
  });

  it("follows lines that only a mapping reads", async () => {
    const mapping = compileMapping(
      RecordMapping.parse({
        version: 1,
        name: "house",
        match: { file: [{ path: "$.run" }, { path: "$.tokens" }] },
        session: "$.run",
        time: { path: "$.at", unit: "ms" },
        usage: { input: "$.tokens" },
      }),
    );
    const call = (n: number) => ({ run: "r1", at: START + n, tokens: 100 * n });
    const path = await target.write("house.jsonl", { note: "a line of another kind" }, call(1));
    const stop = following(target.folder, START, mapping);
    await until(() => turns() === 1);
    await appendFile(path, `${JSON.stringify(call(2))}\n{"run":"r1"`);
    await until(() => turns() === 2);
    await appendFile(path, `,"at":${START + 3},"tokens":300}\n`);
    await until(() => turns() === 3);
    await stop();
  });

  it("names each skipped file once", async () => {
    await target.write("notes.jsonl", { hello: "world" });
    await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    onSkipped.mockClear();
    const stop = following(target.folder);
    await until(() => turns() === 1);
    const other = "33333333-3333-4333-8333-333333333333";
    await target.write(`${other}.jsonl`, turnLine(2, 200, other));
    await until(() => turns() === 2);
    await stop();
    expect(onSkipped.mock.calls).toEqual([
      [expect.objectContaining({ path: expect.stringMatching(/notes\.jsonl$/), why: "unknown_format" })],
    ]);
  });

  it("sends a session whose file was empty, or not there yet, when its folder was scanned", async () => {
    await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    const other = "33333333-3333-4333-8333-333333333333";
    const path = await target.write(`${other}.jsonl`);
    const stop = following(target.folder, START, undefined, 500);
    await until(() => turns() === 1);
    await appendFile(path, `${JSON.stringify(turnLine(2, 200, other))}\n`);
    await until(() => turns() === 2);
    await stop();
  });

  it("sends a changed turn again and an unchanged one once", async () => {
    const path = await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    const stop = following(path);
    await until(() => turns() === 1);
    const grown = turnLine(1, 100);
    grown.message.usage = { input_tokens: 100, output_tokens: 9 } as never;
    await appendFile(path, `${JSON.stringify(grown)}\n`);
    const output = (event: Stored) => (event.usage as { output_tokens?: number } | undefined)?.output_tokens;
    await until(() => [...target.stored.values()].some((event) => output(event) === 9));
    expect(target.server.seen.at(-1)!.body.split("\n")).toHaveLength(1);
    await stop();
  });

  it("ends a silent session, which continues with new lines", async () => {
    const path = await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    const stop = following(path, START + 86_400_000);
    await until(() => [...target.stored.values()].some((event) => event.status === "ended"));
    const resumed = { ...turnLine(2, 200), timestamp: new Date(START + 86_400_000).toISOString() };
    await appendFile(path, `${JSON.stringify(resumed)}\n`);
    await until(() => turns() === 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([...target.stored.values()].filter((event) => event.status === "ended")).toHaveLength(1);
    await stop();
  });

  it("holds nothing more while the server is away, and goes on where it was", async () => {
    let isAway = true;
    const path = await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    target.failures = new Proxy([] as ImportTarget["failures"], {
      get: (list, name) =>
        name === "shift"
          ? () => (isAway ? (response: Parameters<typeof json>[0]) => json(response, 503, {}) : undefined)
          : Reflect.get(list, name),
    });
    const stop = new AbortController();
    const done = tail([path], target.connection(), {
      ...IMPORT_OPTIONS,
      signal: stop.signal,
      now: () => START,
      pollMs: 1,
      scanMs: 1,
      send: { pause: () => new Promise((resolve) => setTimeout(resolve, 1)) },
    });
    const { seen } = target.server;
    await until(() => seen.length > 0);
    const first = seen[0]!.body;
    for (let turn = 2; turn <= 300; turn++)
      await appendFile(path, `${lines(turnLine(turn, turn * 10))[0]}\n`);
    const before = seen.length;
    await until(() => seen.length > before + 20);
    // Every attempt has what was read before the outage, and no more.
    expect(new Set(seen.map(({ body }) => body))).toEqual(new Set([first]));
    isAway = false;
    await until(() => turns() === 300);
    stop.abort();
    await done;
  });

  it("retries during an outage", async () => {
    target.failures = [(response) => void response.destroy(), (response) => json(response, 503, {})];
    const path = await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    const stop = following(path);
    await until(() => turns() === 1);
    await stop();
  });
});
