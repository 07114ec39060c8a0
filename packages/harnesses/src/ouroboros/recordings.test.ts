import { describe, expect, it } from "vitest";
import type { FileHint } from "../recordings/reader.ts";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { ouroborosRecordings, ouroContextLimit } from "./recordings.ts";

const options = { harness: "ouroboros@host", titles: true };
const logs = "ws/.ouro-logs";
const first = "session-2026-02-05T10-00-00";
const second = "session-2026-02-05T11-00-00";
const third = "session-2026-02-05T12-00-00";

const at = (hour: number, second: number) => new Date(Date.UTC(2026, 1, 5, hour, 0, second)).toISOString();
const line = (hour: number, seconds: number, event_type: string, more: object = {}) => ({
  event_type,
  timestamp: at(hour, seconds),
  ...more,
});
const start = (hour: number, workspace = "/home/me/garden") =>
  line(hour, 0, "session_start", { model: "qwen3:8b", workspace });
const usage = (hour: number, seconds: number, prompt: number, limit = 32_768) =>
  line(hour, seconds, "token_usage", {
    turn: seconds,
    prompt_tokens: prompt,
    completion_tokens: 50,
    total_tokens: prompt + 50,
    context_used_pct: prompt / limit,
  });
const restart = (hour: number, seconds: number) =>
  line(hour, seconds, "session_restart", {
    session_number: 2,
    previous_turns: 9,
    carryover_messages: 5,
    reason: "hard_threshold_exceeded",
  });
const end = (hour: number, seconds: number, reason: string) =>
  line(hour, seconds, "session_end", { total_turns: 9, reason });

const read = (...files: [string | FileHint, object[]][]) =>
  readAll(
    ouroborosRecordings.reader(options),
    files.map(([hint, lines]) => ({
      ...(typeof hint === "string" ? { path: `${logs}/${hint}.jsonl` } : hint),
      lines: json(...lines),
    })),
  );

describe("Ouroboros logs", () => {
  it("files linked by a restart are windows of one session named after the first file", () => {
    const { events } = read(
      [first, [start(10), usage(10, 5, 31_000), restart(10, 6), end(10, 7, "context_full_restart")]],
      [second, [start(11), usage(11, 5, 4_000), end(11, 9, "user_shutdown")]],
      [third, [start(12), usage(12, 5, 5_000)]],
    );
    const folds = foldEvents(events);
    const chain = folds.get(`${first} main`)!;
    expect(chain.turns.map((turn) => [turn.window, turn.contextTokens])).toEqual([
      [0, 31_000],
      [1, 4_000],
    ]);
    expect(chain.inferred.size).toBe(0);
    expect(levels(folds.get(`${third} main`))).toEqual([5_000]);
    const ends = events.filter((event) => event.type === "session" && event.status === "ended");
    expect(ends).toMatchObject([{ session: first, reason: "user_shutdown" }]);
    expect(events.filter((event) => event.type === "session" && event.status === "started")).toMatchObject([
      { session: first, title: "garden", kind: "loop" },
      { session: third },
    ]);
  });

  it("another workspace or a shutdown without restart starts another session", () => {
    const { events } = read(
      [first, [start(10, "/a"), usage(10, 5, 100), restart(10, 6)]],
      [second, [start(11, "/b"), usage(11, 5, 200), restart(11, 6), end(11, 8, "user_shutdown")]],
      [third, [start(12, "/b"), usage(12, 5, 300)]],
    );
    expect(foldEvents(events).size).toBe(3);
  });

  it("an earlier log read as context determines the session", () => {
    const { events } = read(
      [
        { path: `${logs}/${first}.jsonl`, contextOnly: true },
        [start(10), usage(10, 5, 31_000), restart(10, 6)],
      ],
      [second, [start(11), usage(11, 5, 4_000)]],
    );
    expect([...foldEvents(events)].map(([key, fold]) => [key, levels(fold)])).toEqual([
      [`${first} main`, [4_000]],
    ]);
  });

  it("a sub-agent has a separate window in the session that was running", () => {
    const { events } = read(
      [first, [start(10), usage(10, 5, 3_000)]],
      [{ path: `${logs}/sub-x1/session-2026-02-05T10-30-00.jsonl` }, [usage(10, 40, 900)]],
    );
    expect(levels(foldEvents(events).get(`${first} sub-x1`))).toEqual([900]);
  });

  it("the window size is the configured one, else computed from the logged share", () => {
    const window = (hint: FileHint, ...lines: object[]) =>
      read([hint, lines]).events.find((event) => event.type === "turn");
    const path = `${logs}/${first}.jsonl`;
    expect(window({ path }, usage(10, 5, 12_345))).toMatchObject({ context_window: 32_768 });
    expect(window({ path, contextLimit: 4_096 }, usage(10, 5, 12_345))).toMatchObject({
      context_window: 4_096,
    });
    const rounded = { ...usage(10, 5, 12_345), context_used_pct: 0.38 };
    expect(window({ path }, rounded)).not.toHaveProperty("context_window");
  });

  it("a prompt count of zero is unknown", () => {
    const { events } = read([first, [start(10), usage(10, 5, 900), usage(10, 6, 0), usage(10, 7, 950)]]);
    expect(levels(foldEvents(events).get(`${first} main`))).toEqual([900, undefined, 950]);
  });

  it("a masked event takes its new level from the next turn", () => {
    const mask = (seconds: number, observations: number) =>
      line(10, seconds, "context_mask", {
        observations_masked: observations,
        total_masked: 3,
        context_reclaimed_pct: 0,
      });
    const { events, skipped } = read([
      first,
      [start(10), usage(10, 5, 25_000), mask(6, 3), usage(10, 7, 19_000), mask(8, 0), usage(10, 9, 19_500)],
    ]);
    const fold = foldEvents(events).get(`${first} main`)!;
    expect([...fold.marks.values()]).toMatchObject([{ tokensBefore: 25_000, tokensAfter: 19_000 }]);
    expect(skipped.nothing_masked).toBe(1);
  });

  it("a wind-down notice has the level of its time", () => {
    const notice = (seconds: number) =>
      line(10, seconds, "system_message", {
        content: "[Context window 92% full. Please wrap up your current task.]",
      });
    const other = line(10, 7, "system_message", { content: "[Context compressed: 3 observations masked]" });
    const { events, skipped } = read([first, [start(10), notice(1), usage(10, 5, 30_100), notice(6), other]]);
    expect(events.filter((event) => event.type === "wind_down")).toMatchObject([{ context_tokens: 30_100 }]);
    expect(skipped.no_level).toBe(1);
  });

  it("a restart within one second starts a new window in the same file", () => {
    const again = { ...usage(10, 8, 2_000), turn: 5 };
    const { events } = read([first, [start(10), usage(10, 5, 31_000), restart(10, 6), start(10), again]]);
    const fold = foldEvents(events).get(`${first} main`)!;
    expect(fold.turns.map((turn) => turn.window)).toEqual([0, 1]);
  });
});

describe("ouro.toml", () => {
  it.each([
    ["[safety]\ncontext_limit = 32_768 # tokens\n", 32_768],
    ["safety.context_limit=4096", 4_096],
    ["[general]\ncontext_limit = 1\n[safety]\nshell_timeout_secs = 30\n", undefined],
    ["# [safety]\n", undefined],
    ["[safety]\ncontext_limit = 0\n", undefined],
    ["[safety]\ncontext_limit = 99999999999999999999\n", undefined],
    ["safety = 3\n", undefined],
    ["[safety]\ncontext_limit = 4096\nbroken\n", undefined],
    ["", undefined],
  ])("%j gives %s", (toml, limit) => {
    expect(ouroContextLimit(toml)).toBe(limit);
  });

  it("of any depth gives no error", () => {
    expect(ouroContextLimit(`a = ${"[".repeat(100_000)}`)).toBeUndefined();
  });
});
