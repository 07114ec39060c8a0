import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { claudeCodeRecordings } from "./recordings.ts";

const options = { harness: "claude-code@host", titles: true };
const S = "11111111-1111-4111-8111-111111111111";
const T = "22222222-2222-4222-8222-222222222222";
const project = "projects/p";

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString();
const usage = (input: number, read = 0, write = 0, output = 10) => ({
  input_tokens: input,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write,
  output_tokens: output,
});
const said = (second: number, id: string, counts: object | undefined, more: object = {}) => ({
  type: "assistant",
  uuid: `u-${id}-${second}`,
  parentUuid: null,
  sessionId: S,
  isSidechain: false,
  timestamp: at(second),
  requestId: `req-${id}`,
  message: { id, model: "claude-opus-5", role: "assistant", content: [], usage: counts },
  ...more,
});
const asked = (second: number, text: unknown, more: object = {}) => ({
  type: "user",
  uuid: `q-${second}`,
  sessionId: S,
  isSidechain: false,
  timestamp: at(second),
  message: { role: "user", content: text },
  ...more,
});
const compacted = (second: number, uuid: string, metadata?: object) => ({
  type: "system",
  subtype: "compact_boundary",
  uuid,
  sessionId: S,
  timestamp: at(second),
  isSidechain: false,
  ...(metadata && { compactMetadata: metadata }),
});

function read(...lines: unknown[]) {
  return readFiles([`${project}/${S}.jsonl`, lines]);
}

function readFiles(...files: [string, unknown[]][]) {
  return readAll(
    claudeCodeRecordings.reader(options),
    files.map(([path, lines]) => ({ path, lines: json(...lines) })),
  );
}

const main = (events: PlimsollEventInput[], session = S) => levels(foldEvents(events).get(`${session} main`));
const turns = (events: PlimsollEventInput[]) => events.filter((event) => event.type === "turn");

describe("Claude Code transcripts", () => {
  it("a turn has the id of the request, as in telemetry, whichever line is read first", () => {
    const retried = said(1, "m1", usage(5), { requestId: "req-b" });
    const lines = [retried, said(2, "m1", usage(5), { requestId: "req-a" })];
    const gateway = said(3, "m2", usage(6), { requestId: undefined });
    for (const all of [
      [...lines, gateway],
      [gateway, ...lines.toReversed()],
    ]) {
      expect(
        turns(read(...all).events)
          .map(({ id }) => id)
          .sort(),
      ).toEqual(["m2", "req-a"]);
    }
  });

  it("a session that goes on at a machine whose clock is behind keeps the order of its turns", () => {
    const chain = (lines: readonly (readonly [second: number, id: string, input: number])[]) =>
      lines.map(([second, id, input], n) =>
        said(second, id, usage(input), { uuid: `l${n}`, parentUuid: n === 0 ? null : `l${n - 1}` }),
      );
    const resumed = chain([
      [240, "m1", 100],
      [250, "m2", 200],
      // The other machine, whose clock is four minutes behind.
      [20, "m3", 300],
      [31, "m4", 400],
      [500, "m5", 500],
    ]);
    const { events } = read(...resumed);
    expect(main(events)).toEqual([100, 200, 300, 400, 500]);
    const seconds = turns(events).map((event) => ((event.at as number) - Date.parse(at(0))) / 1_000);
    expect(seconds).toEqual([240, 250, 250.001, 261.001, 500]);
    // Its telemetry has the times of its own clock, and the same ids.
    const telemetry = turns(events).map((event, n) => ({
      ...event,
      at: Date.parse(at([240, 250, 20, 31, 500][n]!)),
    }));
    expect(main([...events, ...telemetry.map(({ seq: _, ...event }) => event)])).toEqual([
      100, 200, 300, 400, 500,
    ]);
    // Numbers are given only where they are needed.
    const plain = read(
      ...chain([
        [1, "m1", 100],
        [2, "m2", 200],
      ]),
    );
    expect(turns(plain.events).every((event) => !("seq" in event))).toBe(true);
  });

  it("a response over several lines is one turn with the largest output and the first time", () => {
    const { events, skipped } = read(
      said(1, "m1", usage(3, 100, 20, 1)),
      said(2, "m1", usage(3, 100, 20, 1)),
      said(3, "m1", usage(3, 100, 20, 412)),
    );
    expect(turns(events)).toHaveLength(1);
    expect(turns(events)[0]).toMatchObject({
      id: "req-m1",
      at: Date.parse(at(1)),
      usage: { output_tokens: 412, basis: "exclusive" },
    });
    expect(main(events)).toEqual([123]);
    expect(skipped.repeated).toBe(2);
  });

  it("says how long the provider keeps what a call wrote", () => {
    const counts = (ephemeral_5m_input_tokens: number, ephemeral_1h_input_tokens: number) => ({
      ...usage(3, 100, 20),
      cache_creation: { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens },
    });
    const { events } = read(
      said(1, "m1", { ...counts(0, 0), cache_creation_input_tokens: 0 }),
      said(2, "m1", counts(0, 20)),
      said(3, "m2", counts(20, 0)),
      said(4, "m3", usage(3, 100, 20)),
    );
    expect(turns(events).map(({ usage }) => [usage.cache_write_tokens, usage.cache_write_1h_tokens])).toEqual(
      [
        [20, 20],
        [20, 0],
        [20, undefined],
      ],
    );
  });

  describe("of which two models wrote one message", () => {
    const line = (second: number, model: string, counts: object, stop: string | null = null) => {
      const one = said(second, "m1", counts);
      return { ...one, message: { ...one.message, model, stop_reason: stop } };
    };
    it.each<[string, object[], level: number, output: number]>([
      [
        "counts the prompt of the answer, although the first model had a longer one",
        [line(1, "fable", usage(3, 180_000, 2_000, 700)), line(9, "opus", usage(5, 0, 150_000, 260))],
        150_005,
        260,
      ],
      [
        "prefers the line that says why the answer ended to a later one",
        [
          line(1, "fable", usage(3, 150_000, 2_000, 300), "end_turn"),
          line(9, "opus", usage(5, 0, 152_500, 40)),
        ],
        152_003,
        300,
      ],
      [
        "takes the answer after a refusal, although it does not say why it ended",
        [
          line(1, "fable", usage(3, 150_000, 2_000, 4), "refusal"),
          line(9, "opus", usage(5, 0, 152_500, 260)),
        ],
        152_505,
        260,
      ],
      [
        "leaves out a placeholder at the end",
        [line(1, "fable", usage(3, 150_000, 2_000, 300)), line(9, "opus", usage(5, 0, 152_500, 1))],
        152_003,
        300,
      ],
      [
        "takes the counts of a gateway that come with the last line, and begins there",
        [line(0, "opus", usage(0, 0, 0, 1)), line(1, "opus", usage(90_000, 0, 0, 50))],
        90_000,
        50,
      ],
      [
        "takes the larger output of lines at one time",
        [
          line(1, "opus", usage(3, 10, 0, 1)),
          line(1, "opus", usage(3, 10, 0, 90)),
          line(1, "opus", usage(3, 10, 0, 1)),
        ],
        13,
        90,
      ],
    ])("%s", (_, lines, level, output) => {
      for (const order of [lines, lines.toReversed()]) {
        const { events } = read(...order);
        expect(main(events)).toEqual([level]);
        expect(turns(events)).toMatchObject([{ at: Date.parse(at(1)), usage: { output_tokens: output } }]);
      }
    });
  });

  describe("with what the provider did to a prompt", () => {
    const cleared = (second: number, id: string, level: number, edits: object[]) => {
      const line = said(second, id, usage(level));
      return { ...line, message: { ...line.message, context_management: { applied_edits: edits } } };
    };
    const tools = (count: number) => ({ type: "clear_tool_uses_20250919", cleared_tool_uses: count });
    const thinking = (count: number) => ({ type: "clear_thinking_20251015", cleared_thinking_turns: count });
    const falls = (...lines: object[]) => {
      const fold = foldEvents(read(...lines).events).get(`${S} main`)!;
      return [...fold.marks.values(), ...fold.inferred.values()].map(
        ({ type, tokensBefore, tokensAfter }) => [type, tokensBefore, tokensAfter],
      );
    };
    const observations = (...lines: object[]) =>
      read(...lines).events.flatMap((event) => (event.type === "masked" ? [event.observations] : []));

    it("has one boundary for each time that tool uses were cleared, although each answer repeats them", () => {
      const lines = [
        said(1, "m1", usage(160_000)),
        cleared(2, "m2", 95_000, [tools(8)]),
        cleared(3, "m3", 97_000, [tools(8)]),
        cleared(4, "m4", 80_000, [tools(11), thinking(2)]),
        said(5, "m5", usage(170_000)),
        cleared(6, "m6", 90_000, [tools(3)]),
      ];
      expect(falls(...lines)).toEqual([
        ["masked", 160_000, 95_000],
        ["masked", 97_000, 80_000],
        ["masked", 170_000, 90_000],
      ]);
      expect(observations(...lines)).toEqual([8, 3, 3]);
    });

    it("reads cleared thinking as a boundary only where the level fell", () => {
      const lines = [
        said(1, "m1", usage(100_000)),
        cleared(2, "m2", 110_000, [thinking(1)]),
        cleared(3, "m3", 70_000, [thinking(4)]),
      ];
      expect(falls(...lines)).toEqual([["masked", 110_000, 70_000]]);
      expect(observations(...lines)).toEqual([3]);
    });

    it("counts what was cleared again after a compaction, although it is as much as before it", () => {
      const lines = [
        said(1, "m1", usage(160_000)),
        cleared(2, "m2", 95_000, [tools(8)]),
        compacted(3, "b1"),
        said(4, "m3", usage(20_000)),
        said(5, "m4", usage(160_000)),
        cleared(6, "m5", 95_000, [tools(8)]),
      ];
      expect(falls(...lines)).toEqual([
        ["masked", 160_000, 95_000],
        ["compacted", 95_000, 20_000],
        ["masked", 160_000, 95_000],
      ]);
      expect(observations(...lines)).toEqual([8, 8]);
    });

    it("takes a summary within a request for a compaction, from the call before it or the turn before", () => {
      const compaction = { type: "compaction", ...usage(191_000) };
      const after = { type: "message", ...usage(30_000) };
      expect(
        falls(
          said(1, "m1", usage(180_000)),
          said(2, "m2", { ...usage(220_000), iterations: [compaction, after] }),
          said(3, "m3", {
            ...usage(1),
            iterations: [{ type: "message", ...usage(185_000) }, compaction, after],
          }),
        ),
      ).toEqual([
        ["compacted", 180_000, 30_000],
        ["compacted", 185_000, 30_000],
      ]);
    });

    it("ignores edits that are none", () => {
      const lines = [
        said(1, "m1", usage(90_000)),
        cleared(2, "m2", 90_000, [tools(-3), { cleared_tool_uses: "many" }, null as never]),
      ];
      expect(falls(...lines)).toEqual([]);
    });
  });

  describe("with the summary of a compaction", () => {
    const summary = (second: number, more: object = {}) =>
      asked(second, "This session is being continued", { isCompactSummary: true, ...more });
    const compactions = (...files: [string, unknown[]][]) =>
      readFiles(...files).events.filter(({ type }) => type === "compacted");

    it("alone is a compaction", () => {
      const lines = [said(1, "m1", usage(150_000)), summary(20), said(30, "m2", usage(25_000))];
      expect(compactions([`${project}/${S}.jsonl`, lines])).toMatchObject([{ id: "q-20", trigger: "auto" }]);
    });

    it.each([
      ["its boundary before it, however late it is", compacted(5, "b1"), summary(50, { parentUuid: "b1" })],
      ["its boundary after it", compacted(6, "b1"), summary(5)],
    ])("is no second one with %s", (_, boundary, line) => {
      const lines = [said(1, "m1", usage(150_000)), boundary, line, said(59, "m2", usage(25_000))];
      expect(compactions([`${project}/${S}.jsonl`, lines]).map(({ id }) => id)).toEqual(["b1"]);
    });

    it.each([
      ["repeats one shortly before it", [], ["q-20"]],
      ["is a second one after a call", [said(22, "m2", usage(120_000))], ["q-20", "q-25"]],
    ])("%s", (_, between, ids) => {
      const lines = [said(1, "m1", usage(150_000)), summary(20), ...between, summary(25)];
      const found = compactions([`${project}/${S}.jsonl`, [...lines, said(30, "m3", usage(25_000))]]);
      expect(found.map(({ id }) => id)).toEqual(ids);
    });

    it("at the start of a file is none", () => {
      expect(compactions([`${project}/${S}.jsonl`, [summary(1), said(2, "m1", usage(25_000))]])).toEqual([]);
    });

    it("of a sub-agent is the sub-agent's, beside a boundary of its parent", () => {
      const side = { isSidechain: true, agentId: "abc" };
      const found = compactions(
        [
          `${project}/${S}.jsonl`,
          [said(1, "m1", usage(150_000)), compacted(5, "b1"), said(9, "m2", usage(30_000))],
        ],
        [
          `${project}/${S}/subagents/agent-abc.jsonl`,
          [
            said(2, "s1", usage(90_000), { ...side, uuid: "s1" }),
            summary(6, { ...side, uuid: "s2", parentUuid: "s1" }),
            said(8, "s3", usage(20_000), { ...side, uuid: "s3", parentUuid: "s2" }),
          ],
        ],
      );
      expect(found.map(({ id, agent }) => [id, agent])).toEqual([
        ["b1", undefined],
        ["s2", "agent-abc"],
      ]);
    });
  });

  describe("with nested sub-agents", () => {
    const call = (id: string) => ({ content: [{ type: "tool_use", id, name: "Agent", input: {} }] });
    const spoken = (agent: string | undefined, second: number, more: object = {}, line: object = {}) => {
      const uuid = `${agent ?? "main"}-${second}`;
      const side = agent === undefined ? {} : { isSidechain: true, agentId: agent };
      const one = said(second, uuid, usage(5_000), { ...side, uuid, ...line });
      return { ...one, message: { ...one.message, ...more } };
    };
    const file = (agent: string, lines: unknown[]): [string, unknown[]] => [
      `${project}/${S}/subagents/agent-${agent}.jsonl`,
      lines,
    ];
    function parents(files: [string, unknown[]][], calls: Record<string, string>) {
      const reader = claudeCodeRecordings.reader(options);
      for (const [agent, toolUseId] of Object.entries(calls)) {
        const path = `${project}/${S}/subagents/agent-${agent}.meta.json`;
        reader.read(JSON.stringify({ toolUseId }), { path, contextOnly: true });
      }
      for (const [path, lines] of files) for (const line of json(...lines)) reader.read(line, { path });
      const { events } = reader.take(true);
      return Object.fromEntries(
        events.flatMap(({ agent, parent_agent }) => (agent ? [[agent, parent_agent]] : [])),
      );
    }
    const mainFile: [string, unknown[]] = [`${project}/${S}.jsonl`, [spoken(undefined, 0, call("t1"))]];

    it("follows five levels, whichever file is read first", () => {
      const files = [1, 2, 3, 4, 5].map((depth) =>
        file(`d${depth}`, [spoken(`d${depth}`, depth, call(`t${depth + 1}`))]),
      );
      const calls = Object.fromEntries([1, 2, 3, 4, 5].map((depth) => [`d${depth}`, `t${depth}`]));
      for (const order of [
        [mainFile, ...files],
        [...files.toReversed(), mainFile],
      ])
        expect(parents(order, calls)).toEqual({
          "agent-d1": "main",
          "agent-d2": "agent-d1",
          "agent-d3": "agent-d2",
          "agent-d4": "agent-d3",
          "agent-d5": "agent-d4",
        });
    });

    it("takes the agent that got the result if nothing names the call", () => {
      const files = [
        mainFile,
        file("a", [
          spoken("a", 1),
          {
            ...asked(9, "done"),
            isSidechain: true,
            agentId: "a",
            uuid: "r",
            toolUseResult: { agentId: "b" },
          },
        ]),
        file("b", [spoken("b", 2)]),
      ];
      expect(parents(files, {})).toEqual({ "agent-a": "main", "agent-b": "agent-a" });
    });

    it("knows a copy of the parent's lines in the sub-agent's own file", () => {
      const copy = { timestamp: at(1) };
      const files = [
        mainFile,
        file("a", [spoken("a", 1, call("t2"))]),
        file("b", [spoken("b", 1, call("t2"), copy), spoken("b", 3)]),
        file("c", [spoken("c", 4, call("t2"), { timestamp: at(4) }), spoken("c", 5)]),
      ];
      expect(parents(files, { a: "t1", b: "t2", c: "t2" })).toMatchObject({ "agent-c": "agent-a" });
    });

    it("falls back to main for a call that nobody wrote, its own, or a circle", () => {
      const files = [
        file("own", [spoken("own", 1, call("self"))]),
        file("x", [spoken("x", 1, call("to-y"))]),
        file("y", [spoken("y", 1, call("to-x"))]),
        file("gone", [spoken("gone", 1)]),
      ];
      const calls = { own: "self", x: "to-x", y: "to-y", gone: "lost" };
      expect(new Set(Object.values(parents(files, calls)))).toEqual(new Set(["main"]));
    });
  });

  describe("of a fork whose parent is gone", () => {
    const U = "33333333-3333-4333-8333-333333333333";
    const copied = (second: number, id: string, session: string, from = S) =>
      said(second, id, usage(second * 1_000), {
        sessionId: session,
        uuid: `${session}-${id}`,
        forkedFrom: { sessionId: from, messageUuid: `u-${id}` },
      });
    const own = (second: number, id: string, session: string) =>
      said(second, id, usage(second * 1_000), { sessionId: session });

    it("keep the calls, with the boundaries between them", () => {
      const boundary = {
        ...compacted(2, "b1"),
        sessionId: T,
        forkedFrom: { sessionId: S, messageUuid: "b" },
      };
      const { events, skipped } = readFiles([
        `${project}/${T}.jsonl`,
        [copied(1, "m1", T), boundary, copied(3, "m2", T), own(9, "m3", T)],
      ]);
      expect(main(events, T)).toEqual([1_000, 3_000, 9_000]);
      expect(events.filter(({ type }) => type === "compacted")).toHaveLength(1);
      expect(skipped.copied).toBeUndefined();
    });

    it("count a call once in two forks", () => {
      const { events } = readFiles(
        [`${project}/${T}.jsonl`, [copied(1, "m1", T), own(9, "m3", T)]],
        [`${project}/${U}.jsonl`, [copied(1, "m1", U), own(5, "m4", U)]],
      );
      expect(main(events, T)).toEqual([9_000]);
      expect(main(events, U)).toEqual([1_000, 5_000]);
    });

    it("are the parent's calls as far as its file has them, also if it went on for longer", () => {
      const { events } = readFiles(
        [`${project}/${T}.jsonl`, [copied(1, "m1", T), copied(2, "m2", T), own(9, "m3", T)]],
        [`${project}/${S}.jsonl`, [own(2, "m2", S), own(30, "m9", S)]],
      );
      expect(main(events, T)).toEqual([1_000, 9_000]);
      expect(main(events)).toEqual([2_000, 30_000]);
    });

    it("are the parent's calls if its file is only context", () => {
      const reader = claudeCodeRecordings.reader(options);
      for (const line of json(copied(1, "m1", T), own(9, "m3", T)))
        reader.read(line, { path: `${project}/${T}.jsonl` });
      for (const line of json(own(1, "m1", S)))
        reader.read(line, { path: `${project}/${S}.jsonl`, contextOnly: true });
      expect(main(reader.take(true).events, T)).toEqual([9_000]);
    });
  });

  it("reports the window that an error names, for the model and the agent of the calls around it", () => {
    const refused = (second: number, more: object, text = "Prompt is too long") => ({
      ...said(second, `e${second}`, usage(0), { isApiErrorMessage: true, ...more }),
      message: { id: `e${second}`, model: "<synthetic>", content: [{ type: "text", text }] },
    });
    const errorDetails = "prompt is too long: 205,000 tokens > 200,000 maximum";
    const api = `API Error: 400 {"error":{"message":"${errorDetails}"}}`;
    const side = { isSidechain: true, agentId: "a1" };
    const { events, skipped } = readAll(claudeCodeRecordings.reader(options), [
      {
        path: `${project}/${S}.jsonl`,
        lines: json(
          said(1, "m1", usage(100)),
          refused(2, { errorDetails }),
          refused(3, {}, api),
          refused(4, {}),
          said(5, "s1", usage(50), side),
          refused(6, { errorDetails, ...side }),
        ),
      },
    ]);
    const of = (agent: string | undefined, second: number) => ({
      type: "prompt_refused",
      at: Date.parse(at(second)),
      model: "claude-opus-5",
      context_window: 200_000,
      prompt_tokens: 205_000,
      witness: "transcript",
      ...(agent !== undefined && { agent, parent_agent: "main" }),
    });
    expect(events.filter(({ type }) => type === "prompt_refused")).toMatchObject([
      of(undefined, 2),
      of(undefined, 3),
      of("agent-a1", 6),
    ]);
    expect(skipped).toMatchObject({ synthetic: 1 });
  });

  it("skips synthetic messages and all-zero usage", () => {
    const synthetic = said(2, "m2", usage(0));
    synthetic.message.model = "<synthetic>";
    const { events, skipped } = read(
      said(1, "m1", usage(5)),
      synthetic,
      said(3, "m3", usage(0, 0, 0, 0)),
      said(4, "m4", undefined),
    );
    expect(main(events)).toEqual([5]);
    expect(skipped).toMatchObject({ synthetic: 1, zero_usage: 1, no_usage: 1 });
  });

  it("without message and request ids, each line is a turn", () => {
    const line = said(1, "m1", usage(5), { requestId: undefined });
    const { events } = read({ ...line, message: { ...line.message, id: undefined } });
    expect(turns(events)[0]!.id).toBe("u-m1-1");
  });

  it("a request with several model calls has the level of the last call of type message", () => {
    const { events } = read(
      said(1, "m1", {
        ...usage(900_000, 0, 0, 50),
        iterations: [
          { type: "message", ...usage(400_000) },
          { type: "compaction", ...usage(400_000) },
          { type: "message", ...usage(100_000, 7) },
        ],
      }),
    );
    expect(main(events)).toEqual([100_007]);
  });

  it("a sub-agent's file is a separate agent without the replayed messages of its parent", () => {
    const { events, skipped } = readFiles(
      [`${project}/${S}.jsonl`, [said(1, "m1", usage(100)), said(9, "m2", usage(200))]],
      [
        `${project}/${S}/subagents/agent-abc.jsonl`,
        [
          said(1, "m1", usage(100), { isSidechain: true, agentId: "abc", requestId: "other", uuid: "s0" }),
          said(5, "s1", usage(40), { isSidechain: true, agentId: "abc", uuid: "s1" }),
        ],
      ],
    );
    const folds = foldEvents(events);
    expect(levels(folds.get(`${S} main`))).toEqual([100, 200]);
    expect(levels(folds.get(`${S} agent-abc`))).toEqual([40]);
    expect(skipped.replayed).toBe(1);
    expect(events.find((event) => event.id === "req-s1")).toMatchObject({ parent_agent: "main" });
  });

  it("sidechain lines without an agent id are grouped by the first line of their chain", () => {
    const side = { isSidechain: true };
    const { events } = read(
      said(1, "m1", usage(100)),
      said(2, "s1", usage(10), { ...side, uuid: "aaaaaaaa-1", parentUuid: null }),
      said(3, "s2", usage(20), { ...side, uuid: "aaaaaaaa-2", parentUuid: "aaaaaaaa-1" }),
      said(3, "s3", usage(30), { ...side, uuid: "bbbbbbbb-1", parentUuid: "u-m1-1" }),
    );
    const folds = foldEvents(events);
    expect(levels(folds.get(`${S} agent-aaaaaaaa`))).toEqual([10, 20]);
    expect(levels(folds.get(`${S} agent-bbbbbbbb`))).toEqual([30]);
  });

  it("the agent that writes a summary does not change the main agent's level", () => {
    const { events } = readFiles(
      [`${project}/${S}.jsonl`, [said(1, "m1", usage(190_000)), said(9, "m2", usage(30_000))]],
      [
        `${project}/${S}/subagents/agent-acompact-1.jsonl`,
        [said(5, "c1", usage(191_000), { isSidechain: true, agentId: "acompact-1", uuid: "c1" })],
      ],
    );
    const fold = foldEvents(events).get(`${S} main`)!;
    expect(fold.summary.peak!.tokens).toBe(190_000);
    expect(fold.state.current).toBe(30_000);
  });

  it.each([
    "aprompt_suggestion-33a4cf",
    "aside_question-94d26433f3755c77",
    "aextract_memories-0123456789abcdef",
  ])("the agent %s works on a copy of the conversation, and is no part of it", (agentId) => {
    const side = { isSidechain: true, agentId };
    const { events, skipped } = readFiles(
      [`${project}/${S}.jsonl`, [said(1, "m1", usage(3, 150_000)), said(9, "m2", usage(3, 160_000))]],
      [
        `${project}/${S}/subagents/agent-${agentId}.jsonl`,
        [said(1, "m1", usage(3, 150_000), side), said(10, "x1", usage(3, 160_500), side)],
      ],
    );
    expect([...foldEvents(events)].map(([agent, fold]) => [agent, levels(fold)])).toEqual([
      [`${S} main`, [150_003, 160_003]],
    ]);
    expect(skipped).toEqual({ not_needed: 2 });
  });

  it("a sub-agent that a person named stays one", () => {
    const agentId = "areviewer-0123456789abcdef";
    const { events } = readFiles([
      `${project}/${S}/subagents/agent-${agentId}.jsonl`,
      [said(1, "x1", usage(700), { isSidechain: true, agentId })],
    ]);
    expect(levels(foldEvents(events).get(`${S} agent-${agentId}`))).toEqual([700]);
  });

  it("a sub-agent of a workflow belongs to the session in whose folder its run is", () => {
    const { sessionId: _, ...line } = said(1, "x1", usage(700), { isSidechain: true });
    const { events } = readFiles([`${project}/${S}/subagents/workflows/run-7/agent-abc.jsonl`, [line]]);
    expect(levels(foldEvents(events).get(`${S} agent-abc`))).toEqual([700]);
  });

  it("a compaction explains the fall, and postTokens is not used as the level", () => {
    const { events } = read(
      said(1, "m1", usage(934_000)),
      compacted(2, "b1", { trigger: "auto", preTokens: 934_469, postTokens: 15_316 }),
      asked(3, "This session is being continued", { isCompactSummary: true }),
      said(4, "m2", usage(41_000)),
    );
    const fold = foldEvents(events).get(`${S} main`)!;
    expect(fold.marks.get("b1")).toMatchObject({ tokensBefore: 934_469, tokensAfter: 41_000 });
    expect(fold.inferred.size).toBe(0);
    expect(events.find((event) => event.id === "b1")).toMatchObject({ type: "compacted", trigger: "auto" });
  });

  it("accepts boundaries without counts and merges repeated boundaries", () => {
    const { events, skipped } = read(
      said(1, "m1", usage(90_000)),
      compacted(2, "b1"),
      said(3, "m2", usage(20_000)),
      said(8, "m3", usage(95_000)),
      compacted(9, "b2", { trigger: "manual", preTokens: 95_100 }),
      compacted(10, "b3", { trigger: "manual", preTokens: 95_100 }),
    );
    const marks = events.filter((event) => event.type === "compacted");
    expect(marks.map((event) => event.id)).toEqual(["b1", "b2"]);
    expect(marks[1]).toMatchObject({ trigger: "manual" });
    expect(skipped.repeated).toBe(1);
  });

  it("a compaction by hand takes the level of the turn before it, because it counts the messages alone", () => {
    const { events } = read(
      said(1, "m1", usage(90_000)),
      compacted(2, "b1", { trigger: "manual", preTokens: 61_000 }),
      said(3, "m2", usage(20_000)),
    );
    const fold = foldEvents(events).get(`${S} main`)!;
    expect(fold.marks.get("b1")).toMatchObject({ tokensBefore: 90_000, tokensAfter: 20_000 });
  });

  it("a microcompaction is a masked event", () => {
    const { events } = read(said(1, "m1", usage(90_000)), {
      ...compacted(2, "b1"),
      subtype: "microcompact_boundary",
      microcompactMetadata: { preTokens: 90_000, tokensSaved: 30_000, compactedToolIds: ["a", "b"] },
    });
    expect(events.at(-1)).toMatchObject({
      type: "masked",
      observations: 2,
      tokens_before: 90_000,
      tokens_after: 60_000,
    });
  });

  it("/clear starts a window, except before the first turn", () => {
    const clear = "<command-name>/clear</command-name>";
    const { events, skipped } = read(
      asked(0, clear),
      said(1, "m1", usage(90_000)),
      asked(2, clear),
      said(3, "m2", usage(20_000)),
    );
    const fold = foldEvents(events).get(`${S} main`)!;
    expect(fold.turns.map((turn) => turn.window)).toEqual([0, 1]);
    expect(fold.inferred.size).toBe(0);
    expect(skipped.before_first_turn).toBe(1);
  });

  it("lines copied by a resumed session keep their session and are the same turns", () => {
    const { events } = readFiles(
      [`${project}/${S}.jsonl`, [said(1, "m1", usage(100))]],
      [`${project}/${T}.jsonl`, [said(1, "m1", usage(100)), said(5, "m2", usage(200), { sessionId: T })]],
    );
    expect(main(events)).toEqual([100]);
    expect(main(events, T)).toEqual([200]);
  });

  it.each([
    ["that names its origin", { forkedFrom: { sessionId: S, messageUuid: "u" } }],
    ["that rewrote the session id", {}],
  ])("a fork %s counts its copied turns once", (_, mark) => {
    const { events, skipped } = readFiles(
      [`${project}/${S}.jsonl`, [said(1, "m1", usage(100))]],
      [
        `${project}/${T}.jsonl`,
        [said(1, "m1", usage(100), { sessionId: T, ...mark }), said(5, "m2", usage(200), { sessionId: T })],
      ],
    );
    expect(main(events)).toEqual([100]);
    expect(main(events, T)).toEqual([200]);
    expect(skipped.copied).toBe(1);
  });

  it.each<[string, (session: string) => object]>([
    ["a boundary", (sessionId) => ({ ...compacted(2, "b1"), sessionId })],
    ["a summary alone", (sessionId) => asked(2, "So far", { isCompactSummary: true, sessionId })],
    ["a /clear", (sessionId) => asked(2, "<command-name>/clear</command-name>", { sessionId })],
  ])("%s that a resumed session copied is counted once", (_, mark) => {
    const history = (sessionId: string) => [
      said(1, "m1", usage(90_000), { sessionId }),
      mark(sessionId),
      said(3, "m2", usage(20_000), { sessionId }),
    ];
    const { events } = readFiles(
      [`${project}/${S}.jsonl`, history(S)],
      [`${project}/${T}.jsonl`, [...history(T), said(9, "m3", usage(21_000), { sessionId: T })]],
    );
    const marks = events.filter(({ type }) => type !== "turn" && type !== "session");
    expect(marks.map(({ session }) => session)).toEqual([S]);
    expect(main(events, T)).toEqual([21_000]);
  });

  it("a call that was sent stays with its session, whichever of two that have it goes on", () => {
    const reader = claudeCodeRecordings.reader(options);
    const add = (session: string, ...ids: [second: number, id: string][]) => {
      for (const [second, id] of ids)
        reader.read(json(said(second, id, usage(second * 100), { sessionId: session }))[0]!, {
          path: `${project}/${session}.jsonl`,
        });
      const turns = reader.take(false).events.filter(({ type }) => type === "turn");
      return turns.map(({ session: owner, at }) => [owner, Number(at)]);
    };
    add(S, [1, "m1"]);
    add(T, [1, "m1"], [20, "m2"]);
    add(S, [50, "m3"]);
    const at = (second: number) => Date.parse(said(second, "x", {}).timestamp as string);
    expect(add(T, [40, "m4"])).toEqual([20, 40].map((second) => [T, at(second)]));
    expect(add(S, [60, "m5"])).toEqual([1, 50, 60].map((second) => [S, at(second)]));
  });

  it("the title is a given title, else the summary, else the first prompt", () => {
    const title = (events: PlimsollEventInput[]) =>
      events.find((event) => event.type === "session" && event.status === "started");
    const prompt = asked(0, [{ type: "text", text: `fix   the parser ${"and more ".repeat(20)}` }]);
    const plain = title(read(prompt, said(1, "m1", usage(5))).events)!;
    expect("title" in plain && plain.title).toMatch(/^fix the parser and more .*…$/);
    expect("title" in plain && [...plain.title!].length).toBeLessThanOrEqual(80);
    const summarised = read(
      { type: "summary", summary: "Another conversation", leafUuid: "elsewhere" },
      { type: "summary", summary: "Parser repair", leafUuid: "u-m1-1" },
      prompt,
      said(1, "m1", usage(5)),
    );
    expect(title(summarised.events)).toMatchObject({ title: "Parser repair" });
    const named = read({ type: "custom-title", customTitle: "Mine", sessionId: S }, said(1, "m1", usage(5)));
    expect(title(named.events)).toMatchObject({ title: "Mine" });
    const silent = readAll(claudeCodeRecordings.reader({ ...options, titles: false }), [
      { path: "x.jsonl", lines: json(prompt, said(1, "m1", usage(5))) },
    ]);
    expect(title(silent.events)).not.toHaveProperty("title");
  });

  it("a later title has a later time, and unchanged sessions produce no events", () => {
    const reader = claudeCodeRecordings.reader(options);
    const file = { path: "x.jsonl" };
    const started = () =>
      reader.take(false).events.filter((event) => event.type === "session") as {
        at: number;
        title?: string;
      }[];
    const add = (...lines: unknown[]) => {
      for (const line of json(...lines)) reader.read(line, file);
    };
    add(asked(0, "first words"), said(1, "m1", usage(5)), said(9, "m2", usage(6)));
    const [prompt] = started();
    add(
      { type: "summary", summary: "A", leafUuid: "u-m1-1" },
      { type: "summary", summary: "B", leafUuid: "u-m2-9" },
    );
    const [summary] = started();
    add({ type: "ai-title", aiTitle: "C", sessionId: S });
    const [named] = started();
    expect([prompt!.title, summary!.title, named!.title]).toEqual(["first words", "B", "C"]);
    expect(prompt!.at).toBeLessThan(summary!.at);
    expect(summary!.at).toBeLessThan(named!.at);
    expect(started()).toEqual([]);
  });

  it("command echoes and notices are not used as titles", () => {
    const { events } = read(
      asked(0, "<command-name>/model</command-name>"),
      asked(1, "Caveat: The messages below"),
      asked(2, "hidden", { isMeta: true }),
      asked(3, "the real one"),
      said(4, "m1", usage(5)),
    );
    expect(events[0]).toMatchObject({ title: "the real one" });
  });

  it("counts unreadable lines and continues", () => {
    const reader = claudeCodeRecordings.reader(options);
    const path = "x.jsonl";
    for (const line of ["{", "[]", "null", '"text"', '{"type":"user","sessionId":"s"}', '{"type":"later"}']) {
      reader.read(line, { path });
    }
    reader.read(JSON.stringify(said(1, "m1", { input_tokens: "many" })), { path });
    reader.read(JSON.stringify(said(1, "m2", usage(7), { sessionId: undefined })), { path });
    reader.read(JSON.stringify(said(1, "m3", usage(7))), { path });
    const { events, skipped } = reader.take(true);
    expect(turns(events)).toHaveLength(1);
    expect(skipped).toEqual({ unreadable: 4, no_time: 1, not_needed: 1, no_usage: 1, no_session: 1 });
  });

  describe("why a call ended", () => {
    const tool = (name: string) => ({ type: "tool_use", id: `toolu-${name}`, name, input: {} });
    const ended = (
      second: number,
      id: string,
      content: object[],
      stop: string | null = null,
      more: object = {},
    ) => {
      const line = said(second, id, usage(9_000 + second));
      return { ...line, ...more, message: { ...line.message, content, stop_reason: stop } };
    };
    const unasked = (second: number) => asked(second, "go", { permissionMode: "bypassPermissions" });
    const stops = (...lines: unknown[]) =>
      turns(read(...lines).events).map((event) => "stop_reason" in event && event.stop_reason);

    it.each([
      ["a tool call in a line of a stream", [ended(1, "a", [tool("Bash")])], "tool_use"],
      ["a stated tool call", [ended(1, "a", [tool("Bash")], "tool_use")], "tool_use"],
      ["an answer", [ended(1, "a", [{ type: "text", text: "done" }], "end_turn")], "end_turn"],
      ["an answer without a statement", [ended(1, "a", [{ type: "text", text: "done" }])], false],
      ["an answer that was cut off", [ended(1, "a", [], "max_tokens")], "cut_off"],
      ["a question to the person", [ended(1, "a", [tool("AskUserQuestion")], "tool_use")], "tool_approval"],
      ["a plan to be allowed", [ended(1, "a", [tool("ExitPlanMode")])], "tool_approval"],
      [
        "a tool that the person stopped",
        [
          ended(1, "a", [tool("Bash")]),
          asked(9, [{ type: "text", text: "[Request interrupted by user for tool use]" }]),
        ],
        "end_turn",
      ],
    ])("is known of %s", (_, lines, stop) => {
      expect(stops(unasked(0), ...lines)).toEqual([stop]);
    });

    it("is the tool call if the text before it came first, in any order of lines", () => {
      const text = ended(1, "a", [{ type: "text", text: "I look" }]);
      const call = {
        ...ended(2, "a", [tool("Bash")]),
        message: { ...text.message, content: [tool("Bash")] },
      };
      for (const lines of [
        [text, call],
        [call, text],
        [call, text, call],
      ])
        expect(stops(unasked(0), ...lines)).toEqual(["tool_use"]);
    });

    it("is a tool that may wait for its person unless the mode at that time says otherwise", () => {
      const mode = (second: number, permissionMode: string) => asked(second, "go", { permissionMode });
      const lines = [
        ended(1, "a", [tool("Bash")]),
        mode(2, "dontAsk"),
        ended(3, "b", [tool("Bash")]),
        mode(4, "acceptEdits"),
        ended(5, "c", [tool("Bash")]),
      ];
      const expected = ["tool_approval", "tool_use", "tool_approval"];
      expect(stops(...lines)).toEqual(expected);
      expect(stops(...lines.reverse()).reverse()).toEqual(expected);
    });

    it("is a tool call where a program uses the SDK, which asks nobody", () => {
      expect(stops(ended(1, "a", [tool("Bash")], null, { entrypoint: "sdk-cli" }))).toEqual(["tool_use"]);
      expect(stops(ended(1, "a", [tool("Bash")], null, { entrypoint: "cli" }))).toEqual(["tool_approval"]);
    });

    it("ends at the person for the turn that was under way, not for earlier or later ones", () => {
      const calls = [1, 5, 9].map((second) => ended(second, `m${second}`, [tool("Bash")]));
      const stop = asked(6, "[Request interrupted by user]");
      expect(stops(unasked(0), ...calls, stop)).toEqual(["tool_use", "end_turn", "tool_use"]);
    });
  });

  it("take returns only sessions with new lines", () => {
    const reader = claudeCodeRecordings.reader(options);
    const file = { path: "x.jsonl" };
    for (const line of json(said(1, "m1", usage(5)), said(1, "n1", usage(6), { sessionId: T })))
      reader.read(line, file);
    expect(new Set(reader.take(false).events.map((event) => event.session))).toEqual(new Set([S, T]));
    reader.read(json(said(2, "n2", usage(7), { sessionId: T }))[0]!, file);
    expect(new Set(reader.take(false).events.map((event) => event.session))).toEqual(new Set([T]));
    expect(reader.take(false).events).toEqual([]);
  });

  it("estimates what fills the window from the transcript, and says so", () => {
    const words = (count: number) => "alpha beta gamma ".repeat(count);
    const answered = (second: number, key: string, level: number, content: object[]) => {
      const line = said(second, key, usage(level));
      return { ...line, message: { ...line.message, content } };
    };
    const result = (second: number, text: string) =>
      asked(second, [{ type: "tool_result", tool_use_id: "x", content: [{ type: "text", text }] }]);
    const { events } = read(
      asked(0, words(100)),
      answered(1, "m1", 20_000, [{ type: "tool_use", name: "Bash", input: { command: words(20) } }]),
      result(2, words(1_000)),
      answered(3, "m2", 30_000, [{ type: "thinking", thinking: words(9_000) }]),
      compacted(4, "b1", { trigger: "auto", preTokens: 30_000 }),
      asked(5, words(50), { isCompactSummary: true }),
      answered(6, "m3", 20_000, []),
    );
    const parts = turns(events).map((event) => ("composition" in event ? event.composition : undefined));
    const [first, second, third] = parts as { history: number; tool_output: number }[];
    expect(first!.tool_output).toBe(0);
    expect(first!.history).toBeGreaterThan(300);
    expect(second!.history).toBeGreaterThan(first!.history);
    expect(second!.tool_output).toBeGreaterThan(3_000);
    // The thinking of an earlier call is not in the context, and the compaction emptied it.
    expect(second!.history).toBeLessThan(1_000);
    expect(third!.tool_output).toBe(0);
    expect(third!.history).toBeLessThan(first!.history);
    for (const event of turns(events)) expect(event).toMatchObject({ composition_estimated: true });
    expect(foldEvents(events).get(`${S} main`)!.turns[1]!.turn).toMatchObject({ compositionEstimated: true });
  });

  describe("requests that were sent again", () => {
    const v2 = { version: "2.1.310" };
    const failed = (second: number, uuid: string, more: object = {}) => ({
      ...{ type: "system", subtype: "api_error", uuid, sessionId: S, timestamp: at(second), retryAttempt: 1 },
      ...{ isSidechain: false, maxRetries: 10, error: { status: 529 }, ...v2, ...more },
    });
    const retried = (...lines: object[]) =>
      turns(read(...lines).events).map((event) => [
        event.agent ?? "main",
        event.id,
        "outcome" in event ? event.outcome?.retried : undefined,
      ]);
    const side = { isSidechain: true, agentId: "abc", uuid: "s1" };
    const lines = [
      said(1, "m1", usage(9_000), v2),
      failed(2, "f1"),
      failed(3, "f2"),
      failed(3, "f3", { ...side, uuid: "f3" }),
      said(4, "m2", usage(9_500), v2),
      said(5, "m3", usage(9_800), v2),
      said(6, "s1", usage(900), { ...v2, ...side }),
      said(7, "s2", usage(950), { ...v2, ...side, uuid: "s2", parentUuid: "s1" }),
    ];

    it("are those after an error, once for any number of errors, each for its agent, in any order of lines", () => {
      const found = [
        ["main", "req-m1", 0],
        ["main", "req-m2", 1],
        ["main", "req-m3", 0],
        ["agent-abc", "req-s1", 1],
        ["agent-abc", "req-s2", 0],
      ];
      expect(retried(...lines)).toEqual(found);
      expect(retried(...[...lines, ...lines].reverse()).sort()).toEqual(found.sort());
    });

    it("are unknown of versions that do not write them, also before an update", () => {
      const old = said(0, "m0", usage(8_000), { version: "1.0.128" });
      expect(retried(old, said(1, "m1", usage(9_000), v2))).toEqual([
        ["main", "req-m0", undefined],
        ["main", "req-m1", 0],
      ]);
      expect(retried(said(1, "m1", usage(9_000)))).toEqual([["main", "req-m1", undefined]]);
    });
  });

  describe("what survived a compaction", () => {
    const touched = (second: number, key: string, file_path: string) => {
      const line = said(second, key, usage(150_000));
      const content = [{ type: "tool_use", id: `c-${key}`, name: "Edit", input: { file_path } }];
      return { ...line, message: { ...line.message, content } };
    };
    const summary = asked(21, "He wants the tests to pass. Edited src/billing.ts.", {
      isCompactSummary: true,
    });
    const lines = (metadata: object) => [
      asked(0, "Never touch the generated files. Make all of the tests pass again"),
      touched(1, "m1", "/work/src/billing.ts"),
      touched(2, "m2", "/work/src/secret-plans.ts"),
      asked(3, "Always write a test for it."),
      compacted(20, "b1", { trigger: "auto", preTokens: 160_000, ...metadata }),
      summary,
      said(30, "m3", usage(30_000)),
    ];
    const survived = (all: object[]) =>
      read(...all).events.flatMap((event) => (event.type === "compacted" ? [event.survived] : []));

    it("is counted without a word of it, in any order of lines", () => {
      const counts = {
        rule: { verbatim: 0, near: 0, absent: 2 },
        prompt: { verbatim: 0, near: 0, absent: 1 },
        file: { verbatim: 1, near: 0, absent: 1 },
      };
      expect(survived(lines({}))).toEqual([counts]);
      expect(survived(lines({}).reverse())).toEqual([counts]);
      expect(JSON.stringify(read(...lines({})).events)).not.toMatch(/Always|secret|billing/);
    });

    it.each([
      ["named one by one", { preservedMessages: { anchorUuid: "q-21", uuids: ["u-m2-2", "q-3"] } }],
      [
        "from the first on",
        { preservedSegment: { headUuid: "u-m2-2", anchorUuid: "q-21", tailUuid: "q-3" } },
      ],
    ])("has what Claude Code kept beside the summary, %s", (_, kept) => {
      expect(survived(lines(kept))).toMatchObject([
        { rule: { verbatim: 1, absent: 1 }, file: { verbatim: 2, absent: 0 } },
      ]);
    });

    it("is unknown until the next turn, and without a summary", () => {
      expect(survived(lines({}).slice(0, -1))).toEqual([undefined]);
      expect(survived(lines({}).filter((line) => line !== summary))).toEqual([undefined]);
    });

    it("is that of each compaction", () => {
      const later = [
        asked(40, "Prefer small functions over comments."),
        compacted(50, "b2", { trigger: "auto", preTokens: 150_000 }),
        asked(51, "Prefer small functions over comments.", { isCompactSummary: true }),
        said(60, "m4", usage(20_000)),
      ];
      expect(survived([...lines({}), ...later])).toMatchObject([
        { rule: { absent: 2 } },
        { rule: { verbatim: 1, absent: 0 } },
      ]);
    });
  });

  it("tells what the window of each agent holds, without what a compaction dropped", () => {
    const side = { isSidechain: true, agentId: "abc" };
    const reader = claudeCodeRecordings.reader(options);
    const called = (second: number, key: string, content: object[], more: object = {}) => {
      const line = said(second, key, usage(20_000), more);
      return { ...line, message: { ...line.message, content } };
    };
    const result = (second: number, call: string) =>
      asked(second, [{ type: "tool_result", tool_use_id: call, content: "alpha beta ".repeat(300) }]);
    const lines = [
      asked(0, "alpha beta ".repeat(50)),
      called(1, "m1", [{ type: "tool_use", id: "c1", name: "Bash", input: { command: "ls" } }]),
      result(2, "c1"),
      compacted(3, "b1", { trigger: "auto", preTokens: 30_000 }),
      asked(4, "alpha ".repeat(90), { isCompactSummary: true }),
      called(5, "m2", [{ type: "tool_use", id: "c2", name: "Read", input: { file_path: "/work/a.ts" } }]),
      result(6, "c2"),
      called(7, "m3", []),
      asked(8, "gamma ".repeat(1_000), { ...side, uuid: "s0" }),
      called(9, "s1", [], { ...side, uuid: "s1", parentUuid: "s0" }),
    ];
    for (const line of json(...lines)) reader.read(line, { path: `${S}.jsonl` });
    const windows = reader.contents!();
    const held = windows.map(({ agent, turn, items }) => [
      agent,
      turn,
      items.map(({ kind, tool, file }) => [kind, tool, file].filter(Boolean).join(" ")),
    ]);
    expect(held).toEqual([
      [undefined, 3, ["summary", "tool_call Read /work/a.ts", "tool_result Read /work/a.ts"]],
      ["agent-abc", 1, ["user"]],
    ]);
    const { events } = reader.take(true);
    expect(JSON.stringify(events)).not.toContain("/work/a.ts");
    // Only the latest turn of each agent says so.
    const told = turns(events).flatMap((event) =>
      "contents" in event ? [[event.id, event.contents?.parts.map(({ kind, tool }) => tool ?? kind)]] : [],
    );
    expect(told).toEqual([
      ["req-m3", ["Read", "summary"]],
      ["req-s1", ["user"]],
    ]);
  });

  it("tells what was attached, and the names of deferred tools apart", () => {
    const attached = (second: number, attachment: object) => ({
      ...{ type: "attachment", uuid: `a-${second}`, sessionId: S, isSidechain: false, timestamp: at(second) },
      attachment,
    });
    const words = "alpha beta ".repeat(100);
    const lines = [
      attached(1, {
        type: "deferred_tools_delta",
        addedNames: ["WebFetch", "mcp__git__log"],
        addedLines: [],
      }),
      attached(2, {
        ...{ type: "file", filename: "/work/a.ts" },
        content: { type: "text", file: { filePath: "/work/a.ts", content: words } },
      }),
      attached(3, { type: "nested_memory", path: "/work/CLAUDE.md", content: { content: words } }),
      attached(4, { type: "queued_command", prompt: words }),
      attached(5, { type: "hook_success", stdout: words }),
      attached(6, { type: "file", content: { type: "pdf", file: { base64: words } } }),
      attached(7, { type: ["file"], content: words }),
      attached(8, { type: "deferred_tools_delta", addedNames: [7, null] }),
      { ...attached(9, { type: "skill_listing", content: words }), attachment: null },
      said(10, "m1", usage(20_000)),
    ];
    const reader = claudeCodeRecordings.reader(options);
    for (const line of json(...lines)) reader.read(line, { path: `${S}.jsonl` });
    const [window] = reader.contents!();
    const sums = (kind: string) => {
      const items = window!.items.filter((item) => item.kind === kind);
      return [items.length, items.reduce((sum, { tokens }) => sum + tokens, 0)];
    };
    const [prompts, ofPrompts] = sums("user");
    const [attachments, ofAttachments] = sums("attachment");
    expect([prompts, attachments, sums("deferred_tool")[0]]).toEqual([1, 2, 2]);
    expect(ofAttachments! / ofPrompts!).toBeCloseTo(2, 1);
    const { events } = reader.take(true);
    expect(JSON.stringify(events)).not.toMatch(/alpha|a\.ts|CLAUDE/);
    expect(turns(events)[0]).toMatchObject({
      contents: { parts: [{ kind: "attachment" }, { kind: "user" }, { kind: "deferred_tool", count: 2 }] },
    });
  });

  it("keeps the parts of a sub-agent apart", () => {
    const side = { isSidechain: true, agentId: "abc" };
    const { events } = read(
      asked(0, "alpha beta ".repeat(500)),
      said(1, "m1", usage(5_000)),
      asked(2, "gamma ".repeat(100), { ...side, uuid: "s0" }),
      said(3, "s1", usage(5_000), { ...side, uuid: "s1", parentUuid: "s0" }),
      said(4, "m2", usage(5_000)),
    );
    const history = Object.fromEntries(
      turns(events).map((event) => [
        event.id,
        "composition" in event ? event.composition?.history : undefined,
      ]),
    );
    expect(history["req-m2"]).toBe(history["req-m1"]);
    expect(history["req-s1"]).toBeGreaterThan(0);
    expect(history["req-s1"]).toBeLessThan(history["req-m1"]! / 5);
  });
});

describe("of a person who goes on from an earlier message", () => {
  const prompt = (second: number, parentUuid: string) => asked(second, "Go on", { parentUuid });
  const first = said(2, "m1", usage(20_000), { parentUuid: "q-1" });
  const begin = [
    asked(1, "Begin"),
    first,
    prompt(3, first.uuid),
    said(4, "m2", usage(90_000), { uuid: "last" }),
  ];
  const rewound = [prompt(8, first.uuid), said(9, "m3", usage(21_000))];
  const foldOf = (...lines: unknown[]) => foldEvents(read(...lines).events).get(`${S} main`)!;

  it("explain the fall, in whatever order lines are read", () => {
    const lines = [...begin, ...rewound];
    for (const order of [lines, lines.toReversed()]) {
      const fold = foldOf(...order);
      expect([...fold.marks.values()]).toMatchObject([
        { type: "masked", tokensBefore: 90_000, tokensAfter: 21_000 },
      ]);
      expect(fold.inferred.size).toBe(0);
    }
  });

  it("have the fall in the session that it was in, where another one copied it", () => {
    const resumed = [...begin, ...rewound].map((line) => ({ ...line, sessionId: T }));
    const more = { sessionId: T, uuid: "more" };
    const { events } = readFiles(
      [`${project}/${S}.jsonl`, [...begin, ...rewound]],
      [`${project}/${T}.jsonl`, [...resumed, said(20, "m4", usage(30_000), more)]],
    );
    expect(foldEvents(events).get(`${S} main`)!.marks.size).toBe(1);
    expect(foldEvents(events).get(`${T} main`)!.marks.size).toBe(0);
  });

  it.each<[string, unknown[]]>([
    ["follows the latest answer", [prompt(8, "last"), said(9, "m3", usage(91_000))]],
    ["names a line that is not there", [prompt(8, "gone"), said(9, "m3", usage(91_000))]],
    ["names no line", [asked(8, "Go on"), said(9, "m3", usage(91_000))]],
    [
      "was queued while the agent worked",
      [said(10, "m3", usage(91_000), { uuid: "later" }), prompt(9, "later"), said(12, "m4", usage(92_000))],
    ],
    [
      "follows the end of a tool that another one ran beside",
      [
        said(6, "m3", usage(91_000), { uuid: "two calls" }),
        asked(7, [{ type: "tool_result", tool_use_id: "t1", content: "1" }], { parentUuid: "two calls" }),
        prompt(8, "q-7"),
        said(9, "m4", usage(92_000)),
      ],
    ],
    ["is not answered yet", [prompt(8, first.uuid)]],
  ])("are not assumed where a prompt %s", (_, more) => {
    expect(foldOf(...begin, ...more).marks.size).toBe(0);
  });

  it("are not assumed where the context was compacted since", () => {
    const summary = asked(6, "Summary", { isCompactSummary: true, parentUuid: "b1" });
    const lines = [...begin, compacted(5, "b1"), summary, ...rewound];
    expect([...foldOf(...lines).marks.values()]).toMatchObject([{ type: "compacted" }]);
  });
});
