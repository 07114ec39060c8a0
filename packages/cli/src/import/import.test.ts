import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FIXTURES, hasFixtures } from "../../../harnesses/src/testing/fold.ts";
import {
  IMPORT_OPTIONS,
  type ImportTarget,
  SESSION,
  startImportTarget,
  turnLine,
} from "../testing/import-target.ts";
import { runImport } from "./import.ts";
import { nothingImported } from "./nothing.ts";
import { planImport } from "./plan.ts";
import { summaryLines } from "./summary.ts";

const A_THREAD = "019f0000-0000-7000-8000-00000000000a";

let target: ImportTarget;
beforeEach(async () => {
  target = await startImportTarget();
});
afterEach(() => target.close());

describe("plimsoll import", () => {
  it("imports a folder, ends its sessions, and changes nothing when repeated", async () => {
    await target.write(`p/${SESSION}.jsonl`, turnLine(1, 100), turnLine(2, 200));
    await target.write(
      `p/${SESSION}/subagents/agent-a1.jsonl`,
      { ...turnLine(1, 100), isSidechain: true, agentId: "a1" },
      { ...turnLine(3, 50), isSidechain: true, agentId: "a1" },
    );
    await target.write("notes.jsonl", { hello: "world" });
    await writeFile(join(target.folder, "empty.jsonl"), "");
    const run = async () => runImport(await planImport([target.folder]), target.connection(), IMPORT_OPTIONS);

    const first = await run();
    expect(first).toMatchObject({ files: { "claude-code": 2 }, sessions: 1, agents: 2, events: 5 });
    expect(first.sent).toMatchObject({ accepted: 5, duplicates: 0, rejected: [] });
    expect([...target.stored.values()].filter((event) => event.status === "ended")).toMatchObject([
      { reason: "imported", session: SESSION, harness: "test@host" },
    ]);
    expect(target.server.seen[0]!.authorization).toBe("Bearer k");
    const before = new Map(target.stored);

    const second = await run();
    expect(second.sent).toMatchObject({ accepted: 0, duplicates: 5 });
    expect(target.stored).toEqual(before);

    const text = summaryLines(first, await planImport([target.folder])).join("\n");
    expect(text).toContain("files       2 (claude-code 2)");
    expect(text).toContain("events      5: 5 accepted, 0 already known, 0 rejected");
    expect(text).toContain("replayed");
    expect(text).toMatch(/notes\.jsonl: unknown format/);
    expect(text).toMatch(/empty\.jsonl: empty/);
  });

  it("names the machine, and the repository only if it is asked to", async () => {
    const line = { ...turnLine(1, 100), cwd: "/home/ann/billing", gitBranch: "main" };
    await target.write(`p/${SESSION}.jsonl`, line);
    const run = async (more: object) => {
      await runImport(await planImport([target.folder]), target.connection(), { ...IMPORT_OPTIONS, ...more });
      return [...target.stored.values()];
    };
    const plain = await run({ machine: "laptop" });
    const recorded = plain.filter(({ status }) => status !== "ended");
    expect(recorded.every(({ machine }) => machine === "laptop")).toBe(true);
    const repositoryOf = (place: object) => {
      expect(place).toMatchObject({ folder: "/home/ann/billing", branch: "main" });
      return { repository: "example.org/billing", branch: "main" };
    };
    const named = await run({ machine: "laptop", repositoryOf });
    for (const events of [plain, named]) expect(JSON.stringify(events)).not.toContain("/home/ann");
    const placed = (events: typeof plain) => events.filter(({ repository }) => repository !== undefined);
    expect(placed(plain)).toEqual([]);
    expect(placed(named)).toMatchObject([
      { type: "session", repository: "example.org/billing", branch: "main" },
    ]);
  });

  it("reads the parent of a single Codex thread to tell what the thread copied, and imports none of it", async () => {
    const [parent, child] = [A_THREAD, "019f0000-0000-7000-8000-00000000000b"];
    const line = (second: number, type: string, payload: object) => ({
      timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
      type,
      payload,
    });
    const count = (second: number, input: number, total: number) =>
      line(second, "event_msg", {
        type: "token_count",
        info: {
          last_token_usage: { input_tokens: input },
          total_token_usage: { input_tokens: total, total_tokens: total },
        },
      });
    const meta = (second: number, id: string, more: object = {}) =>
      line(second, "session_meta", { id, timestamp: line(second, "", {}).timestamp, ...more });
    const history = [count(1, 50_000, 50_000), count(9, 60_000, 110_000)];
    await target.write(`sessions/2026/11/19/rollout-x-${parent}.jsonl`, meta(0, parent), ...history);
    const own = `sessions/2026/11/20/rollout-y-${child}.jsonl`;
    const copy = [count(20, 50_000, 50_000), count(23, 60_000, 110_000)];
    await target.write(own, meta(20, child, { forked_from_id: parent }), ...copy, count(24, 7_000, 117_000));
    const plan = await planImport([join(target.folder, own)]);
    const { events, files, skipped } = await runImport(plan, target.connection(), IMPORT_OPTIONS);
    expect(files).toEqual({ codex: 1 });
    expect(skipped.replayed).toBe(2);
    expect(events).toBe(3);
    const turns = [...target.stored.values()].filter(({ type }) => type === "turn");
    expect(turns).toMatchObject([{ session: child, usage: { input_tokens: 7_000 } }]);
  });

  it.each([true, false])(
    "reads the sub-agents of a workflow together with their session, given the folder: %s",
    async (isFolder) => {
      const side = (second: number, tokens: number) => ({
        ...turnLine(second, tokens),
        ...{ isSidechain: true, agentId: "abc" },
      });
      const path = `p/${SESSION}/subagents/workflows/run-7/agent-abc.jsonl`;
      await target.write(`p/${SESSION}.jsonl`, turnLine(1, 100), turnLine(5, 200));
      // It begins with a copy of the conversation.
      await target.write(path, side(1, 100), side(3, 40));
      const plan = await planImport([isFolder ? target.folder : join(target.folder, path)]);
      expect(plan.groups).toHaveLength(1);
      expect(plan.groups[0]!.files.map(({ contextOnly }) => contextOnly === true)).toEqual([
        !isFolder,
        false,
      ]);
      if (!isFolder) return;
      const { skipped } = await runImport(plan, target.connection(), IMPORT_OPTIONS);
      expect(skipped.replayed).toBe(1);
      const turns = [...target.stored.values()].filter(({ type }) => type === "turn");
      expect(turns.sort((a, b) => Number(a.at) - Number(b.at))).toMatchObject([
        { usage: { input_tokens: 100 } },
        { usage: { input_tokens: 40 }, agent: "agent-abc" },
        { usage: { input_tokens: 200 } },
      ]);
    },
  );

  it("does not end a session that its recording ends", async () => {
    await target.write(
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
    await runImport(await planImport([target.folder]), target.connection(), IMPORT_OPTIONS);
    expect([...target.stored.values()].filter((event) => event.status === "ended")).toMatchObject([
      { reason: "completed" },
    ]);
  });

  const copied = (session: string, second: number) => turnLine(second, 100 * second, session);
  const RESUMED = "22222222-2222-4222-8222-222222222222";
  it.each([[[SESSION, RESUMED]], [[RESUMED, SESSION]]])(
    "counts history that a second file copied once, when %j are imported one by one",
    async (order) => {
      await target.write(`p/${SESSION}.jsonl`, copied(SESSION, 1), copied(SESSION, 2));
      await target.write(`p/${RESUMED}.jsonl`, copied(RESUMED, 1), copied(RESUMED, 2), copied(RESUMED, 3));
      for (const session of order) {
        const plan = await planImport([join(target.folder, `p/${session}.jsonl`)]);
        const { files } = await runImport(plan, target.connection(), IMPORT_OPTIONS);
        expect(files).toEqual({ "claude-code": 1 });
      }
      const turns = [...target.stored.values()].filter((event) => event.type === "turn");
      expect(turns.map(({ session, id }) => [session, id]).sort()).toEqual([
        [SESSION, "m-1"],
        [SESSION, "m-2"],
        [RESUMED, "m-3"],
      ]);
    },
  );

  it("explains a named file that yields nothing, and an import that finds no turns", async () => {
    const good = await target.write(`p/${SESSION}.jsonl`, turnLine(1, 100));
    const bad = await target.write("notes.jsonl", { hello: "world" });
    const quiet = await target.write("quiet.jsonl", {
      type: "queue-operation",
      operation: "enqueue",
      sessionId: "s",
    });
    const explain = async (...paths: string[]) => {
      const plan = await planImport(paths);
      return nothingImported(paths, plan, await runImport(plan, undefined, IMPORT_OPTIONS));
    };
    expect(await explain(good)).toEqual([]);
    expect(await explain(target.folder)).toEqual([]);
    expect(await explain(good, bad)).toEqual([`${bad}: unknown format`]);
    expect(await explain(good, quiet)).toEqual([`${quiet}: 1 line with no context window data`]);
    expect(await explain(bad, quiet)).toHaveLength(2);
    await mkdir(join(target.folder, "nothing"));
    expect(await explain(join(target.folder, "nothing"))).toEqual([
      expect.stringContaining("nothing: no recordings in this folder"),
    ]);
  });

  it("reads a file with a byte order mark", async () => {
    const path = await target.write(`${SESSION}.jsonl`);
    await writeFile(path, `\ufeff${JSON.stringify(turnLine(1, 100))}\n`);
    const summary = await runImport(await planImport([path]), undefined, IMPORT_OPTIONS);
    expect(summary).toMatchObject({ events: 3, skipped: {} });
  });

  it("reads the other files if one was deleted meanwhile, and names it", async () => {
    await target.write(`p/${SESSION}.jsonl`, turnLine(1, 100));
    const gone = await target.write(`p/${RESUMED}.jsonl`, turnLine(2, 200, RESUMED));
    const plan = await planImport([target.folder]);
    await rm(gone);
    const summary = await runImport(plan, target.connection(), IMPORT_OPTIONS);
    expect(summary).toMatchObject({ sessions: 1, unreadable: [{ path: gone, why: "unreadable" }] });
    expect(summaryLines(summary, plan).join("\n")).toContain(`${gone}: unreadable`);
  });

  it("names every skipped file", async () => {
    for (let n = 0; n < 12; n += 1) await target.write(`notes-${n}.jsonl`, { hello: n });
    const plan = await planImport([target.folder]);
    const text = summaryLines(await runImport(plan, undefined, IMPORT_OPTIONS), plan).join("\n");
    for (let n = 0; n < 12; n += 1) expect(text).toContain(`notes-${n}.jsonl: unknown format`);
  });

  it("sends nothing in a dry run", async () => {
    await target.write(`${SESSION}.jsonl`, turnLine(1, 100));
    const summary = await runImport(await planImport([target.folder]), undefined, IMPORT_OPTIONS);
    expect(summary).toMatchObject({ events: 3, sent: undefined });
    expect(target.server.seen).toEqual([]);
  });

  it("reads the window size of Ouroboros logs from ouro.toml or the flag", async () => {
    const usage = {
      event_type: "token_usage",
      timestamp: "2026-02-05T10:00:05Z",
      turn: 1,
      prompt_tokens: 900,
      completion_tokens: 5,
    };
    await target.write(".ouro-logs/session-2026-02-05T10-00-00.jsonl", usage);
    await writeFile(join(target.folder, "ouro.toml"), "[safety]\ncontext_limit = 8192\n");
    await runImport(await planImport([target.folder]), target.connection(), IMPORT_OPTIONS);
    expect([...target.stored.values()].find((event) => event.type === "turn")).toMatchObject({
      context_window: 8_192,
      session: "session-2026-02-05T10-00-00",
    });
    const plan = await planImport([target.folder], { contextLimit: 4_096 });
    expect(plan.groups[0]!.files[0]!.contextLimit).toBe(4_096);
  });

  it("imports a single log of a chain into the session that it continues", async () => {
    const line = (hour: number, event_type: string, more: object = {}) => ({
      event_type,
      timestamp: `2026-02-05T${hour}:00:05Z`,
      ...more,
    });
    const usage = { turn: 1, prompt_tokens: 900, completion_tokens: 5 };
    await target.write(
      ".ouro-logs/session-2026-02-05T10-00-00.jsonl",
      line(10, "token_usage", usage),
      line(10, "session_end", { reason: "context_full_restart" }),
    );
    const second = await target.write(
      ".ouro-logs/session-2026-02-05T11-00-00.jsonl",
      line(11, "token_usage", usage),
    );
    const summary = await runImport(await planImport([second]), target.connection(), IMPORT_OPTIONS);
    expect(summary.files).toEqual({ ouroboros: 1 });
    expect([...target.stored.values()].map((event) => [event.session, event.type])).toEqual([
      ["session-2026-02-05T10-00-00", "session"],
      ["session-2026-02-05T10-00-00", "turn"],
      ["session-2026-02-05T10-00-00", "session"],
    ]);
  });

  it("follows links to folders without cycles", async () => {
    await target.write(`real/${SESSION}.jsonl`, turnLine(1, 100));
    await symlink(join(target.folder, "real"), join(target.folder, "linked"));
    await symlink(target.folder, join(target.folder, "real", "up"));
    await symlink(target.folder, join(target.folder, "round"));
    await symlink(join(target.folder, "nowhere"), join(target.folder, "dangling.jsonl"));
    const plan = await planImport([target.folder]);
    expect(plan.groups.flatMap(({ files }) => files.map(({ location }) => location))).toEqual([
      join(target.folder, "real", `${SESSION}.jsonl`),
    ]);
    expect(plan.unknown).toMatchObject([{ why: "unreadable" }]);
    expect((await planImport([join(target.folder, "linked")])).groups).toHaveLength(1);
  });

  it("names a missing path", async () => {
    await expect(planImport([join(target.folder, "nowhere")])).rejects.toThrow(
      /File or folder not found: .*nowhere/,
    );
  });

  it.skipIf(!hasFixtures)("the schema accepts every event of the real recordings", async () => {
    const { sent, events } = await runImport(
      await planImport([FIXTURES]),
      target.connection(),
      IMPORT_OPTIONS,
    );
    expect(sent).toMatchObject({ accepted: events, duplicates: 0, rejected: [] });
  });
});
