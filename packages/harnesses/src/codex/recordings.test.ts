import { describe, expect, it } from "vitest";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { codexRecordings } from "./recordings.ts";

const options = { harness: "codex@host", titles: true };
const A = "019a0000-0000-7000-8000-00000000000a";
const B = "019a0000-0000-7000-8000-00000000000b";
const C = "019a0000-0000-7000-8000-00000000000c";
const file = (thread: string, folder = "sessions/2026/11/20") =>
  `${folder}/rollout-2026-11-20T10-00-00-${thread}.jsonl`;

const at = (ms: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, 0) + ms).toISOString();
const line = (ms: number, type: string, payload: object) => ({ timestamp: at(ms), type, payload });
const meta = (ms: number, id: string, more: object = {}) =>
  line(ms, "session_meta", { id, timestamp: at(ms), ...more });
const spawned = (parent: string) => ({
  source: { subagent: { thread_spawn: { parent_thread_id: parent, depth: 1 } } },
});
const tokens = (input: number, total: number, output = 100) => ({
  last_token_usage: {
    input_tokens: input,
    cached_input_tokens: Math.floor(input / 2),
    output_tokens: output,
    reasoning_output_tokens: 10,
    total_tokens: input + output,
  },
  total_token_usage: { input_tokens: total, output_tokens: output, total_tokens: total + output },
  model_context_window: 258_400,
});
const count = (ms: number, info: object | null) => line(ms, "event_msg", { type: "token_count", info });
const record = (ms: number, thread: string, id: string, input: number, more: object = {}) =>
  line(ms, "token_usage_record", {
    thread_id: thread,
    response_id: id,
    usage: { input_tokens: input, cached_input_tokens: 0, output_tokens: 5, total_tokens: input + 5 },
    ...more,
  });
const model = (ms: number, name: string) => line(ms, "turn_context", { model: name });

const read = (...files: [string, object[]][]) =>
  readAll(
    codexRecordings.reader(options),
    files.map(([path, lines]) => ({ path, lines: json(...lines) })),
  );

describe("Codex rollouts", () => {
  it("uses the prompt of the last call and the reported effective window", () => {
    const { events } = read([
      file(A),
      [meta(0, A), model(1, "gpt-6"), count(5_000, tokens(88_000, 610_000))],
    ]);
    const fold = foldEvents(events).get(`${A} main`)!;
    expect(levels(fold)).toEqual([88_000]);
    expect(fold.state).toMatchObject({ windowTokens: 258_400, windowSource: "reported", model: "gpt-6" });
  });

  describe("the limits of the account", () => {
    const limits = (ms: number, primary: object | null, more: object = {}, info: object | null = null) =>
      line(ms, "event_msg", { type: "token_count", info, rate_limits: { primary, ...more } });
    const window = (
      used_percent: unknown,
      resets_at: unknown = 1_795_000_000,
      window_minutes: unknown = 300,
    ) => ({
      ...{ used_percent, resets_at, window_minutes },
    });
    const quotas = (...lines: object[]) =>
      read([file(A), [meta(0, A), model(1, "gpt-6"), ...lines]]).events.flatMap((event) =>
        event.type === "quota" ? [event] : [],
      );

    it("are read with and without a count, each percent once in a quarter of an hour", () => {
      const secondary = window(77, 1_795_500_000, 10_080);
      const read = quotas(
        limits(5_000, window(7), { secondary, limit_id: "codex", plan_type: "pro" }),
        limits(6_000, window(7.4), { secondary }, tokens(88_000, 610_000)),
        limits(7_000, window(8), { secondary: null }),
        limits(7_000 + 15 * 60_000, window(8)),
      );
      expect(read.map(({ used_percent, at }) => [used_percent, at])).toEqual([
        [7, Date.parse(at(5_000))],
        [77, Date.parse(at(5_000))],
        [8, Date.parse(at(7_000))],
        [8, Date.parse(at(7_000 + 15 * 60_000))],
      ]);
      expect(read[1]).toMatchObject({
        ...{ harness: "codex@host", provider: "openai", limit: "codex", window_minutes: 10_080 },
        resets_at: 1_795_500_000_000,
      });
      expect(read.every((event) => !("session" in event))).toBe(true);
      expect(new Set(read.map(({ id }) => id)).size).toBe(4);
    });

    it("have the reset that versions of 2025 gave in seconds, and whole hours", () => {
      const [old] = quotas(limits(5_000, { used_percent: 7, resets_in_seconds: 600, window_minutes: 299 }));
      expect(old).toMatchObject({ window_minutes: 300, resets_at: Date.parse(at(605_000)) });
    });

    it.each([
      ["no window", null],
      ["a text", window("7")],
      ["no reset", window(7, null)],
      ["a reset of another age", window(7, 5)],
      ["a negative use", window(-7)],
      ["a use of a million", window(1e6)],
    ])("are not read from %s", (_, primary) => {
      expect(quotas(limits(5_000, primary))).toEqual([]);
    });

    it("have no length that cannot be", () => {
      expect(quotas(limits(5_000, window(7, 1_795_000_000, -3)))[0]).not.toHaveProperty("window_minutes");
    });
  });

  describe("why a response ended", () => {
    const item = (ms: number, type: string) =>
      line(ms, "response_item", { type, name: "shell", arguments: "{}" });
    const policy = (ms: number, approval_policy: string) =>
      line(ms, "turn_context", { model: "gpt-6", approval_policy });
    const done = (ms: number, type = "task_complete") => line(ms, "event_msg", { type });
    const response = (n: number, type?: string) => [
      ...(type === undefined ? [] : [item(1_000 * n - 100, type)]),
      count(1_000 * n, tokens(1_000 * n, 5_000 * n)),
    ];
    const stops = (...lines: object[]) =>
      read([file(A), [meta(0, A), ...lines]]).events.flatMap((event) =>
        event.type === "turn" ? [event.stop_reason] : [],
      );

    it.each([
      [
        "a tool call that is never asked about",
        [policy(1, "never"), ...response(1, "function_call")],
        ["tool_use"],
      ],
      ["a tool call that a person may be asked about", response(1, "local_shell_call"), ["tool_approval"]],
      ["a tool of the provider", [policy(1, "never"), ...response(1, "web_search_call")], [undefined]],
      [
        "the end of a run",
        [...response(1, "function_call"), ...response(2), done(2_500)],
        ["tool_approval", "end_turn"],
      ],
      [
        "a run that a person stopped",
        [...response(1, "function_call"), done(1_500, "turn_aborted")],
        ["end_turn"],
      ],
      [
        "a call whose response is not counted yet",
        [policy(1, "never"), ...response(1), item(1_500, "function_call")],
        [undefined],
      ],
      [
        "a policy that changed",
        [
          policy(1, "never"),
          ...response(1, "function_call"),
          policy(1_200, "on-request"),
          ...response(2, "function_call"),
        ],
        ["tool_use", "tool_approval"],
      ],
    ])("is known of %s", (_, lines, expected) => {
      expect(stops(...lines)).toEqual(expected);
      expect(stops(...[...lines].reverse()).reverse()).toEqual(expected);
    });
  });

  it("reports the window that an error names", () => {
    const message =
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.";
    const error = (ms: number, more: object) => line(ms, "event_msg", { type: "error", ...more });
    const { events } = read([
      file(A),
      [
        meta(0, A),
        model(1, "gpt-6"),
        count(5_000, tokens(900, 900)),
        error(6_000, { message }),
        error(7_000, { message: "Your input exceeds the context window of this model." }),
        line(8_000, "event_msg", { type: "stream_error", message: "retry", additional_details: message }),
      ],
    ]);
    const refused = { model: "gpt-6", context_window: 128_000, prompt_tokens: 130_001 };
    expect(events.filter(({ type }) => type === "prompt_refused")).toMatchObject([
      { ...refused, at: Date.parse(at(6_000)) },
      { ...refused, at: Date.parse(at(8_000)) },
    ]);
  });

  it("marks counts that contradict each other", () => {
    const counts = { input_tokens: 9_000, cached_input_tokens: 52_000, output_tokens: 5 };
    const info = { last_token_usage: counts, model_context_window: 258_400 };
    const { events } = read([file(A), [meta(0, A), count(5_000, info)]]);
    expect(events.filter(({ type }) => type === "turn")).toMatchObject([{ estimated: true }]);
    const recorded = record(5_000, A, "r1", 0, { usage: counts });
    expect(
      read([file(B), [meta(0, A), recorded]]).events.filter(({ type }) => type === "turn"),
    ).toMatchObject([{ estimated: true }]);
  });

  it("skips counts without usage and the estimate after a compaction", () => {
    const { events, skipped } = read([
      file(A),
      [meta(0, A), count(5_000, null), count(6_000, tokens(900, 900)), count(7_000, tokens(0, 901))],
    ]);
    expect(levels(foldEvents(events).get(`${A} main`))).toEqual([900]);
    expect(skipped).toMatchObject({ no_usage: 1, zero_usage: 1 });
  });

  it("counts a repeated line with unchanged totals as one inference", () => {
    const { events, skipped } = read([
      file(A),
      [
        meta(0, A),
        count(5_000, tokens(900, 900)),
        count(6_000, tokens(900, 900)),
        count(9_000, tokens(900, 1_800)),
      ],
    ]);
    expect(levels(foldEvents(events).get(`${A} main`))).toEqual([900, 900]);
    expect(skipped.repeated).toBe(1);
  });

  it("an archived copy produces the same events", () => {
    const lines = [meta(0, A), count(5_000, tokens(900, 900))];
    const { events } = read([file(A), lines], [file(A, "archived_sessions"), lines]);
    expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(events.length / 2);
  });

  it("uses only the records if a file has records and counts", () => {
    const { events, skipped } = read([
      file(A),
      [meta(0, A), record(5_000, A, "resp_1", 900), count(5_001, tokens(900, 900))],
    ]);
    const turns = events.filter((event) => event.type === "turn");
    expect(turns).toMatchObject([{ id: "resp_1", context_window: 258_400 }]);
    expect(skipped.superseded).toBe(1);
  });

  it("keeps the counts of a thread from before a version with records went on with it", () => {
    const { events, skipped } = read([
      file(A),
      [
        meta(0, A),
        count(5_000, tokens(50_000, 50_000)),
        count(9_000, tokens(120_000, 170_000)),
        record(90_000, A, "resp_1", 95_000),
        count(90_001, tokens(95_000, 265_000)),
        record(99_000, A, "resp_2", 99_000),
        count(99_001, tokens(99_000, 364_000)),
      ],
    ]);
    expect(levels(foldEvents(events).get(`${A} main`))).toEqual([50_000, 120_000, 95_000, 99_000]);
    expect(skipped).toEqual({ superseded: 2 });
  });

  it("begins a fork with none of the counts that a version without records wrote in its parent", () => {
    const { events, skipped } = read([
      file(B),
      [
        meta(20_000, B, { forked_from_id: A }),
        meta(20_000, A),
        count(5_000, tokens(50_000, 50_000)),
        count(9_000, tokens(120_000, 170_000)),
        record(29_000, B, "resp_1", 121_000),
        count(29_001, tokens(121_000, 291_000)),
      ],
    ]);
    expect(levels(foldEvents(events).get(`${B} main`))).toEqual([121_000]);
    expect(skipped).toEqual({ replayed: 2, superseded: 1 });
  });

  it("while following, holds a count back until the next line", () => {
    const reader = codexRecordings.reader(options);
    const path = file(A);
    for (const text of json(meta(0, A), count(5_000, tokens(900, 900)))) reader.read(text, { path });
    expect(reader.take(false).events).toEqual([]);
    reader.read(json(record(5_001, A, "resp_1", 900))[0]!, { path });
    expect(
      reader
        .take(false)
        .events.filter((event) => event.type === "turn")
        .map(({ id }) => id),
    ).toEqual(["resp_1"]);
  });

  it("a spawned thread is a sub-agent without its parent's history", () => {
    const parent = [
      meta(0, A),
      model(1, "gpt-6"),
      count(5_000, tokens(50_000, 50_000)),
      count(9_000, tokens(60_000, 110_000)),
    ];
    const child = [
      meta(20_000, B, spawned(A)),
      meta(20_001, A),
      count(20_002, tokens(50_000, 50_000)),
      count(20_003, tokens(60_000, 110_000)),
      line(20_004, "compacted", { window_id: "old" }),
      count(24_000, tokens(60_000, 110_000)),
      count(25_000, tokens(12_000, 122_000)),
    ];
    const { events, skipped } = read([file(A), parent], [file(B), child]);
    const folds = foldEvents(events);
    expect(levels(folds.get(`${A} main`))).toEqual([50_000, 60_000]);
    expect(levels(folds.get(`${A} agent-${B}`))).toEqual([12_000]);
    expect(folds.size).toBe(2);
    expect(skipped).toMatchObject({ replayed: 3, repeated: 1 });
  });

  it("a quick sub-agent keeps the calls whose records name its thread", () => {
    const { events, skipped } = read([
      file(B),
      [
        meta(0, B, spawned(A)),
        record(2, A, "resp_1", 500),
        record(300, B, "resp_2", 600),
        count(301, tokens(600, 600)),
        record(600, B, "resp_3", 700),
      ],
    ]);
    expect(levels(foldEvents(events).get(`${A} agent-${B}`))).toEqual([600, 700]);
    expect(skipped.replayed).toBe(1);
  });

  describe("begin with the history of another thread", () => {
    const started = (ms: number, id: string, startedMs?: number) =>
      line(ms, "event_msg", {
        type: "task_started",
        turn_id: id,
        ...(startedMs !== undefined && { started_at: Math.floor(Date.parse(at(startedMs)) / 1_000) }),
      });
    const parent = [
      meta(0, A),
      started(1_000, "p1"),
      count(5_000, tokens(50_000, 50_000)),
      line(6_000, "compacted", { window_id: "w1" }),
      started(7_000, "p2"),
      count(9_000, tokens(20_000, 70_000)),
    ];
    /** The history of the parent, from a time on and with a pause between lines. */
    const copy = (from: number, pause: number) =>
      parent.map((one, index) => ({ ...one, timestamp: at(from + index * pause) }));
    const spawn = (lines: object[], more: object = spawned(A), file_ = parent) => {
      const { events } = read([file(A), file_], [file(B), [meta(20_000, B, more), ...lines]]);
      const key = "forked_from_id" in more ? `${B} main` : `${A} agent-${B}`;
      const fold = foldEvents(events).get(key);
      const falls = fold ? [...fold.marks.values(), ...fold.inferred.values()].map(({ type }) => type) : [];
      return { levels: levels(fold), falls, events };
    };

    it.each([
      ["with its original times", parent],
      ["stamped within a moment", copy(20_001, 1)],
      ["stamped across the end of a second", copy(20_900, 40)],
      ["stamped over many seconds", copy(20_100, 1_700)],
    ])(
      "%s: the files of the parent tell what is copied, also beside a call in the first second",
      (_, copied) => {
        const last = Date.parse((copied.at(-1) as { timestamp: string }).timestamp) - Date.parse(at(0));
        const from = Math.max(20_050, last) + 20;
        for (const more of [spawned(A), { forked_from_id: A }]) {
          const own = [count(from, tokens(31_000, 101_000)), count(from + 400, tokens(36_000, 137_000))];
          expect(spawn([...copied, ...own], more)).toMatchObject({ levels: [31_000, 36_000], falls: [] });
        }
      },
    );

    it("tells what is copied by when its runs began, without the parent's file", () => {
      const lines = [
        meta(20_001, A),
        started(20_100, "p1", 1_000),
        count(20_200, tokens(50_000, 50_000)),
        started(21_300, "p2", 7_000),
        line(21_400, "compacted", { window_id: "w1" }),
        count(22_900, tokens(20_000, 70_000)),
        started(22_950, "own", 22_950),
        count(22_990, tokens(31_000, 101_000)),
        line(22_995, "compacted", { window_id: "w2" }),
        started(30_000, "own2", 30_000),
        count(31_000, tokens(12_000, 113_000)),
      ];
      const { events } = read([file(B), [meta(20_000, B, { forked_from_id: A }), ...lines]]);
      const fold = foldEvents(events).get(`${B} main`)!;
      expect(levels(fold)).toEqual([31_000, 12_000]);
      expect([...fold.marks.keys()]).toEqual(["compacted/w2"]);
    });

    it("has nothing of its own while all runs are copied", () => {
      const lines = [started(20_100, "p1", 1_000), count(21_500, tokens(50_000, 50_000))];
      expect(spawn(lines, { forked_from_id: A }, [meta(0, A)]).levels).toEqual([]);
    });

    it("knows original times without the parent's file, and begins when the thread began", () => {
      const { events } = read([
        file(B),
        [meta(20_000, B, { forked_from_id: A }), ...parent, count(20_300, tokens(31_000, 101_000))],
      ]);
      expect(levels(foldEvents(events).get(`${B} main`))).toEqual([31_000]);
      expect(events.find(({ type }) => type === "session")).toMatchObject({ at: Date.parse(at(20_000)) });
    });

    it("has no run of its parent that began in the second of the fork, without the parent's file", () => {
      const copied = [started(19_050, "p1", 19_050), count(19_500, tokens(50_000, 50_000))];
      const own = [started(21_000, "own", 21_000), count(21_400, tokens(52_000, 102_000))];
      const { events } = read([file(B), [meta(19_600, B, { forked_from_id: A }), ...copied, ...own]]);
      expect(levels(foldEvents(events).get(`${B} main`))).toEqual([52_000]);
    });

    it("is a sub-agent without a history: calls in the first second count, also with sums like the parent's", () => {
      const own = [count(20_100, tokens(50_000, 50_000)), count(20_500, tokens(60_000, 110_000))];
      expect(spawn(own, spawned(A), [meta(0, A)]).levels).toEqual([50_000, 60_000]);
      const dated = [started(20_050, "own", 20_050), ...own];
      expect(spawn(dated).levels).toEqual([50_000, 60_000]);
    });

    it("is a fork of a fork", () => {
      const fork = [
        meta(20_000, B, { forked_from_id: A }),
        ...copy(20_001, 1),
        count(29_000, tokens(40_000, 110_000)),
      ];
      const again = [
        meta(40_000, C, { forked_from_id: B }),
        ...copy(40_001, 300),
        count(42_000, tokens(40_000, 110_000)),
        count(42_100, tokens(44_000, 154_000)),
      ];
      const { events } = read([file(A), parent], [file(B), fork], [file(C), again]);
      const folds = foldEvents(events);
      expect(levels(folds.get(`${B} main`))).toEqual([40_000]);
      expect(levels(folds.get(`${C} main`))).toEqual([44_000]);
    });
  });

  describe("with a compaction", () => {
    const answer = (ms: number, ...texts: string[]) =>
      line(ms, "response_item", {
        type: "message",
        role: "assistant",
        content: texts.map((text) => ({ type: "output_text", text })),
      });
    const shown = (lines: object[]) => {
      const fold = foldEvents(read([file(A), [meta(0, A), ...lines]]).events).get(`${A} main`)!;
      return [
        fold.turns
          .map(({ contextTokens, turn }) => (turn.compaction ? `(${contextTokens})` : `${contextTokens}`))
          .join(" "),
        [...fold.marks.values()]
          .map(({ tokensBefore, tokensAfter }) => `${tokensBefore} -> ${tokensAfter}`)
          .join(),
        fold.inferred.size,
      ];
    };

    it("take its levels from the calls around its own request, which it names", () => {
      expect(
        shown([
          record(5_000, A, "r1", 225_000),
          record(8_000, A, "rc", 226_500),
          line(8_100, "compacted", { window_id: "w", message: "s", compaction_response_id: "rc" }),
          record(12_000, A, "r2", 31_000),
        ]),
      ).toEqual(["225000 (226500) 31000", "225000 -> 31000", 0]);
    });

    it.each([
      ["", ["The user wants a parser.\nDone: the lexer."], "The user wants a parser.\nDone: the lexer."],
      [" that is short", ["Done."], "Done."],
      [" of several texts", ["First,", "the lexer. "], "First,\nthe lexer."],
      [", of which the last text counts", ["Let me think.", "Done: the lexer."], "Done: the lexer."],
    ])("know its request by the summary%s in older versions", (_, texts, summary) => {
      expect(
        shown([
          answer(4_900, "Let me read the file."),
          count(5_000, tokens(225_000, 225_000)),
          answer(7_900, ...texts),
          count(8_000, tokens(226_500, 451_500)),
          line(8_100, "compacted", { message: `Another model began.\n${summary}` }),
          count(12_000, tokens(31_000, 482_500)),
        ]),
      ).toEqual(["225000 (226500) 31000", "225000 -> 31000", 0]);
    });

    it("leave the last call a level if it wrote no summary, although an earlier answer ends alike", () => {
      expect(
        shown([
          answer(3_900, "began."),
          count(4_000, tokens(200_000, 200_000)),
          answer(4_900, "Let me read the file."),
          count(5_000, tokens(225_000, 425_000)),
          line(8_100, "compacted", { message: "Another model began." }),
          count(12_000, tokens(31_000, 456_000)),
        ]),
      ).toEqual(["200000 225000 31000", "225000 -> 31000", 0]);
    });

    it("leave the last call a level if the provider wrote the summary", () => {
      expect(
        shown([
          answer(4_900, "Let me read the file."),
          count(5_000, tokens(225_000, 225_000)),
          line(8_100, "compacted", { message: "" }),
          count(12_000, tokens(31_000, 256_000)),
        ]),
      ).toEqual(["225000 31000", "225000 -> 31000", 0]);
    });
  });

  it("explain a fall after a person took prompts back", () => {
    const back = (ms: number, turns: number) =>
      line(ms, "event_msg", { type: "thread_rolled_back", num_turns: turns });
    const { events } = read([
      file(A),
      [
        meta(0, A),
        count(5_000, tokens(100_000, 100_000)),
        back(6_000, 2),
        count(9_000, tokens(40_000, 140_000)),
        back(9_500, 0),
      ],
    ]);
    const fold = foldEvents(events).get(`${A} main`)!;
    expect([...fold.marks.values()]).toMatchObject([
      { type: "masked", tokensBefore: 100_000, tokensAfter: 40_000 },
    ]);
    expect(events.at(-1)).toMatchObject({ observations: 2 });
    expect(fold.inferred.size).toBe(0);
  });

  it.each([
    ["in the header", { source: { subagent: { other: "guardian" } }, parent_thread_id: A }],
    ["as the session", { source: { subagent: { other: "guardian" } }, session_id: A }],
    ["as the origin of a review", { source: { subagent: "review" }, forked_from_id: A }],
    ["with no source", { thread_source: "subagent", parent_thread_id: A }],
  ])("a thread that no tool call spawned is a sub-agent of the thread %s", (_, more) => {
    const { events } = read(
      [file(A), [meta(0, A), count(5_000, tokens(100, 100))]],
      [file(B), [meta(6_000, B, more), count(9_000, tokens(200, 200))]],
    );
    expect(levels(foldEvents(events).get(`${A} agent-${B}`))).toEqual([200]);
  });

  it.each([
    ["that names itself", { source: { subagent: "review" }, parent_thread_id: B, session_id: B }],
    ["of the command line", { source: "cli", session_id: B }],
  ])("a thread %s is nobody's sub-agent", (_, more) => {
    const { events } = read([file(B), [meta(6_000, B, more), count(9_000, tokens(200, 200))]]);
    expect(levels(foldEvents(events).get(`${B} main`))).toEqual([200]);
  });

  it("a nested spawned thread has its parent thread as parent and belongs to the root session", () => {
    const { events } = read(
      [file(A), [meta(0, A), count(5_000, tokens(100, 100))]],
      [file(B), [meta(6_000, B, spawned(A)), count(9_000, tokens(200, 200))]],
      [file(C), [meta(10_000, C, spawned(B)), count(15_000, tokens(300, 300))]],
    );
    const turn = events.find((event) => event.type === "turn" && event.agent === `agent-${C}`);
    expect(turn).toMatchObject({ session: A, parent_agent: `agent-${B}`, own_session: C });
  });

  it("a fork is a separate session without the copied history", () => {
    const { events } = read([
      file(B),
      [
        meta(0, B, { forked_from_id: A }),
        count(10, tokens(500, 500)),
        count(11, tokens(600, 1_100)),
        count(9_000, tokens(700, 1_800)),
      ],
    ]);
    expect(levels(foldEvents(events).get(`${B} main`))).toEqual([700]);
  });

  it("a compaction takes its levels from the turns around it", () => {
    const { events } = read([
      file(A),
      [
        meta(0, A),
        count(5_000, tokens(240_000, 240_000)),
        line(6_000, "compacted", { window_number: 2, window_id: "w2", message: "…" }),
        count(9_000, tokens(21_000, 261_000)),
      ],
    ]);
    const fold = foldEvents(events).get(`${A} main`)!;
    expect(fold.marks.get("compacted/w2")).toMatchObject({ tokensBefore: 240_000, tokensAfter: 21_000 });
    expect(fold.inferred.size).toBe(0);
  });

  it("without an id, takes the session id, then the file name", () => {
    const sessionOf = (path: string, payload: object) =>
      read([path, [line(0, "session_meta", payload), count(5_000, tokens(900, 900))]]).events[0]!.session;
    expect(sessionOf(file(A), { session_id: B })).toBe(B);
    expect(sessionOf(file(A), {})).toBe(A);
    expect(sessionOf("logs/rollout-monday.jsonl", {})).toBe("rollout-monday");
    expect(read(["logs/.jsonl", [count(5_000, tokens(900, 900))]]).events[0]!.session).toBe("unnamed");
  });

  it("a spawned thread without an id stays apart from the session that it names", () => {
    const { events } = read(
      [file(A), [meta(0, A), count(5_000, tokens(100, 100))]],
      [
        file(B),
        [line(6_000, "session_meta", { session_id: A, ...spawned(A) }), count(9_000, tokens(200, 200))],
      ],
    );
    const folds = foldEvents(events);
    expect(levels(folds.get(`${A} main`))).toEqual([100]);
    expect(levels(folds.get(`${A} agent-${B}`))).toEqual([200]);
  });

  it("a log without a model has the model unknown", () => {
    const { events } = read([file(A), [meta(0, A), count(5_000, tokens(900, 900))]]);
    expect(events.find((event) => event.type === "turn")).toMatchObject({ model: "unknown" });
  });

  it("a turn has the model of its time in any order of lines", () => {
    const lines = [
      meta(0, A),
      model(1, "gpt-6"),
      count(5_000, tokens(900, 900)),
      model(6_000, "gpt-6-mini"),
      count(9_000, tokens(950, 1_850)),
    ];
    const models = (order: object[]) =>
      read([file(A), order])
        .events.filter((event) => event.type === "turn")
        .map((event) => [event.id, event.model])
        .sort();
    expect(models([...lines].reverse())).toEqual(models(lines));
    expect(models(lines).map(([, name]) => name)).toEqual(["gpt-6", "gpt-6-mini"]);
  });

  it("estimates what fills the window from the items before each count, and says so", () => {
    const item = (ms: number, payload: object) => line(ms, "response_item", payload);
    const text = (count: number) => "alpha beta gamma ".repeat(count);
    const message = (ms: number, role: string, count: number) =>
      item(ms, { type: "message", role, content: [{ type: "input_text", text: text(count) }] });
    const { events } = read([
      file(A),
      [
        meta(0, A),
        model(1, "gpt-6"),
        message(2, "developer", 200),
        message(3, "user", 100),
        item(4, { type: "function_call", name: "shell", arguments: text(1_000) }),
        count(5_000, tokens(20_000, 20_000)),
        item(5_001, { type: "function_call_output", call_id: "x", output: text(2_000) }),
        count(9_000, tokens(40_000, 60_000)),
        line(9_500, "compacted", { message: text(50) }),
        count(12_000, tokens(9_000, 69_000)),
      ],
    ]);
    const parts = events.flatMap((event) =>
      event.type === "turn"
        ? [event.composition as { system: number; history: number; tool_output: number }]
        : [],
    );
    const [first, second, third] = parts;
    expect(first!.system).toBeGreaterThan(500);
    expect(first!.tool_output).toBe(0);
    // What the model writes enters the context of the next call.
    expect(first!.history).toBeLessThan(500);
    expect(second!.history).toBeGreaterThan(3_000);
    expect(second!.tool_output).toBeGreaterThan(6_000);
    expect(third).toMatchObject({ system: first!.system, tool_output: 0 });
    expect(third!.history).toBeLessThan(300);
    for (const event of events) if (event.type === "turn") expect(event.composition_estimated).toBe(true);
    const told = events.flatMap((event) => ("contents" in event ? [[event.at, event.contents?.parts]] : []));
    expect(told).toMatchObject([[events.at(-2)?.at, [{ kind: "system", count: 1 }, { kind: "summary" }]]]);
  });

  it("tells what a compaction lost only where it is known what Codex kept beside the summary", () => {
    const item = (ms: number, payload: object) => line(ms, "response_item", payload);
    const message = (role: string, text: string) => ({
      ...{ type: "message", role },
      content: [{ type: "input_text", text }],
    });
    const lossWith = (compacted: object) => {
      const reader = codexRecordings.reader(options);
      const lines = [
        meta(0, A),
        model(1, "gpt-6"),
        item(2, message("user", "<environment_context>cwd is here</environment_context>")),
        item(3, message("user", "Never push to main.\nRename the field in all files")),
        count(4, tokens(9_000, 9_000)),
        line(5, "compacted", compacted),
        item(6, message("user", "Go on with it, please")),
        count(9_000, tokens(300, 9_300)),
      ];
      for (const one of json(...lines)) reader.read(one, { path: file(A) });
      for (const event of reader.take(true).events) if (event.type === "compacted") sent.push(event.survived);
      return reader.contents!()[0]!.loss;
    };
    const sent: unknown[] = [];
    const summary = "The user wants the field renamed in all files, of which three are done.";
    expect(lossWith({ message: summary })).toBeUndefined();
    const loss = lossWith({
      message: summary,
      replacement_history: [
        message("developer", "Be brief."),
        message("user", "Never push to main."),
        message("user", `Another model began this. ${summary}`),
      ],
    });
    expect(loss).toMatchObject({ turn: 1, before: 9_000, after: 300 });
    expect(loss!.things.map(({ text, survival }) => [text, survival])).toEqual([
      ["Never push to main.", "verbatim"],
      ["Rename the field in all files", "absent"],
    ]);
    expect(sent).toEqual([
      undefined,
      { rule: { verbatim: 1, near: 0, absent: 0 }, prompt: { verbatim: 0, near: 0, absent: 1 } },
    ]);
  });

  it("tells what the window of each thread holds, with the tool of each result", () => {
    const item = (ms: number, payload: object) => line(ms, "response_item", payload);
    const text = (count: number) => "alpha beta gamma ".repeat(count);
    const reader = codexRecordings.reader(options);
    const lines = [
      meta(0, A),
      model(1, "gpt-6"),
      item(2, { type: "message", role: "user", content: [{ type: "input_text", text: text(10) }] }),
      item(3, { type: "function_call", call_id: "c1", name: "shell", arguments: "{}" }),
      count(4, tokens(5_000, 5_000)),
      item(5, { type: "function_call_output", call_id: "c1", output: text(300) }),
      item(6, { type: "web_search_call", action: { query: text(5) } }),
      count(9_000, tokens(20_000, 25_000)),
    ];
    for (const one of json(...lines)) reader.read(one, { path: file(A) });
    const [window, ...others] = reader.contents!();
    expect(others).toEqual([]);
    expect(window).toMatchObject({ session: A, agent: undefined, model: "gpt-6", turn: 2, level: 20_000 });
    expect(window!.items.map(({ kind, tool, turn }) => [kind, tool, turn])).toEqual([
      ["user", undefined, 1],
      ["tool_call", "shell", 2],
      // The search was written by the latest answer, so it is not in its prompt.
      ["tool_result", "shell", 2],
    ]);
    expect(window!.rest + window!.items.reduce((sum, one) => sum + one.tokens, 0)).toBe(20_000);
  });
});
