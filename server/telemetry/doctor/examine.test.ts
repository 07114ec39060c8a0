import type { DoctorCheck } from "@plimsoll/protocol";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TurnRow } from "../../store/turns.ts";
import { TEST_WINDOWS, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { editTurns } from "../../testing/turns.ts";
import { DoctorConnection } from "./connection.ts";
import { type ExamineOptions, examine } from "./examine.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);
const BUDGET = 60_000;

let path: TestIngest;

beforeAll(async () => {
  path = await testIngest();
  await path.prisma.modelWindow.createMany({
    data: Object.entries(TEST_WINDOWS).map(([model, tokens]) => ({
      projectId: 1,
      model,
      tokens,
      updatedAt: new Date(),
    })),
  });
  await sendHistories();
});
afterAll(() => path.close());

function examined(options: Partial<ExamineOptions> = {}) {
  const reader = { projectId: 1, thresholds: DEFAULT_THRESHOLDS };
  const clock = () => performance.now();
  return examine(reader, { databaseUrl: path.databaseUrl, clock, budget: BUDGET, ...options });
}

async function faults(): Promise<string> {
  const { checks } = await examined();
  return checks
    .filter(({ ok }) => !ok)
    .map(({ name, message }) => `${name}: ${message}`)
    .join("\n");
}

/** Two sessions of three agents: falls, marks, reports, ends; a third of it late, repeated or out of order. */
async function sendHistories(): Promise<void> {
  const server = await path.start({ segmentTurns: 3 });
  const events: { id: string; at: number; [field: string]: unknown }[] = [];
  for (const [session, agent] of [
    ["s1", "main"],
    ["s1", "scout"],
    ["s2", "main"],
  ]) {
    const base = { harness: "h@one", session, agent, ...(agent === "scout" && { parent_agent: "main" }) };
    const at = (n: number) => HOUR + n * 400_000 + (agent === "scout" ? 7_000 : 0);
    for (let n = 0; n < 40; n++) {
      const input_tokens = 600 + (n % 9) * 900 + n;
      events.push({
        ...base,
        id: `turn-${n}`,
        type: "turn",
        at: at(n),
        model: n % 10 === 9 ? "model-b" : "model-a",
        usage: { input_tokens, cache_read_tokens: n * 10, output_tokens: n },
        cost_usd: n / 1_000,
        ...(n === 13 && { purpose: "compaction" }),
        ...(n === 25 && { context_window: 8_000 }),
      });
    }
    events.push({ ...base, id: "masked", type: "masked", at: at(8) + 1, observations: 2 });
    events.push({ ...base, id: "mask-2", type: "masked", at: at(26) + 1, observations: 1 });
    events.push({
      ...base,
      id: "restarted",
      type: "restarted",
      at: at(17) + 1,
      number: 1,
      previous_turns: 18,
      carryover_turns: 0,
      reason: "full",
    });
    events.push({
      ...base,
      id: "report",
      type: "threshold_crossed",
      at: at(1) + 1,
      threshold: "warning",
      direction: "up",
      threshold_tokens: 1_500,
      context_tokens: 1_501,
    });
  }
  for (let n = 0; n < 60; n++) {
    const turn = { type: "turn", at: HOUR + n, model: "model-a", usage: { input_tokens: 100 * n } };
    events.push({ ...turn, id: "only", harness: "h@one", session: "many", agent: `agent-${n}` });
  }
  const session = { harness: "h@one", session: "s2", agent: "main", type: "session" };
  events.push({ ...session, id: "begin", at: HOUR, status: "started", title: "A title", kind: "loop" });
  events.push({ ...session, id: "end", at: HOUR + 50 * 400_000, status: "ended", reason: "done" });
  events.push({ id: "hello", at: HOUR, harness: "h@one", type: "harness", status: "hello", name: "h" });
  const late = events.filter((_, index) => index % 7 === 3);
  const repeated = events.filter((_, index) => index % 5 === 1);
  const inTime = events.filter((event) => !late.includes(event));
  for (let start = 0; start < inTime.length; start += 11)
    await server.send(...inTime.slice(start, start + 11));
  await server.send(...repeated, ...late.reverse());
  await server.close();
}

describe("a healthy database", () => {
  it("passes every check, with late, repeated and out-of-order events", async () => {
    expect(await faults()).toBe("");
    const { checks } = await examined();
    expect(checks.every(({ complete }) => complete)).toBe(true);
    expect(of(checks, "agents equal")).toMatchObject({ examined: 63, of: 63 });
    expect(of(checks, "agents equal").message).toBe("63 of 63 agents folded again, no difference.");
    expect(of(checks, "sessions are")).toMatchObject({ examined: 3, of: 3 });
    expect(of(checks, "acknowledged turns").message).toMatch(/^180 turns acknowledged/);
  });

  it("has something in every table that is compared", async () => {
    for (const table of ["segments", "windows", "crossings", "boundaries", "boundary_rollups"]) {
      const [row] = await path.prisma.$queryRawUnsafe<{ count: bigint }[]>(`SELECT count(*) FROM ${table}`);
      expect([table, Number(row!.count)]).not.toEqual([table, 0]);
    }
    expect(await path.prisma.boundary.count({ where: { origin: 1 } })).toBeGreaterThan(0);
    expect(await path.prisma.crossing.count({ where: { origin: 2 } })).toBeGreaterThan(0);
  });

  it("raises no alarm while two servers write", async () => {
    const servers = await Promise.all([path.start({ segmentTurns: 2 }), path.start({ segmentTurns: 2 })]);
    let running = true;
    const load = Promise.all(
      servers.map(async (server, sender) => {
        for (let n = 0; running; n++) {
          const session = `busy-${n % 3}`;
          const at = HOUR + 1e6 + (n % 11) * 50_000 + sender;
          const turn = {
            harness: "h@two",
            session,
            type: "turn",
            model: "model-a",
            at,
            id: `${sender}-${n}`,
          };
          const high = { ...turn, usage: { input_tokens: 1_000 * (n % 9) }, estimated: n % 4 === 0 };
          await server.send(high, { ...high, estimated: false, usage: { input_tokens: 10 * (n % 90) } });
        }
      }),
    );
    try {
      for (let round = 0; round < 6; round++) expect(await faults()).toBe("");
    } finally {
      running = false;
      await load;
      await Promise.all(servers.map((server) => server.close()));
    }
    expect(await faults()).toBe("");
    expect(await path.prisma.rejectedEvent.findMany({ select: { error: true } })).toEqual([]);
  }, 120_000);
});

describe("an examination", () => {
  /** Every look at the clock costs some milliseconds. */
  const slowClock = (ms: number) => {
    let now = 0;
    return { clock: () => (now += ms), now: () => now };
  };

  it("keeps to its time and says what it covered", async () => {
    const { clock, now } = slowClock(10);
    const { ok, checks, next } = await examined({ clock, budget: 8_000 });
    expect(now()).toBeLessThan(10_000);
    expect({ ok, next }).toEqual({ ok: true, next: null });
    const agents = of(checks, "agents equal");
    expect(agents.complete).toBe(false);
    expect(agents.examined).toBeLessThan(agents.of!);
    expect(agents.message).toMatch(/^\d+ of \d+ agents folded again, no difference\.$/);
  });

  it("has no fault to report if there is no time at all", async () => {
    const { checks } = await examined({ budget: 0 });
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(of(checks, "acknowledged turns").message).toBe("Not finished in the time for this check.");
    expect(of(checks, "agents equal")).toMatchObject({ complete: false, examined: 0, of: null });
  });

  it("answers in parts that add up to the whole report", async () => {
    const whole = await examined();
    const checks: DoctorCheck[] = [];
    const progress = new Set<string | undefined>();
    let cursor: string | undefined;
    let parts = 0;
    do {
      const { clock } = slowClock(5);
      const part = await examined({ clock, answerWithin: 1, ...(cursor && { cursor }) });
      checks.push(...part.checks);
      progress.add(part.progress?.message);
      cursor = part.next ?? undefined;
      parts += 1;
    } while (cursor !== undefined);
    expect(parts).toBeGreaterThan(whole.checks.length);
    expect(checks).toEqual(whole.checks);
    expect([...progress].some((message) => /^[1-9]\d* of \d+ /.test(message ?? ""))).toBe(true);
  });

  it("names the project for each table of each statement", async () => {
    const texts = new Set<string>();
    const atOneMoment = DoctorConnection.prototype.atOneMoment;
    const spy = vi.spyOn(DoctorConnection.prototype, "atOneMoment").mockImplementation(function (
      this: DoctorConnection,
      deadline,
      run,
    ) {
      return atOneMoment.call(this, deadline, (sql) =>
        run({
          query: (text, ...values) => {
            texts.add(text);
            return sql.query(text, ...values);
          },
        }),
      ) as never;
    });
    await examined();
    spy.mockRestore();
    expect(texts.size).toBeGreaterThan(25);
    const tables = /\b(?:FROM|JOIN) ([a-z_]+) (?:AS )?([a-z]+)\b/g;
    for (const text of texts) {
      const uses = [...text.matchAll(tables)].filter(([, table]) => table !== "unnest");
      for (const [use, table, alias] of uses) {
        const named = [`${alias}.project_id = $1`, `${table} WHERE project_id = $1`];
        expect(
          named.some((condition) => text.includes(condition)),
          `${use} in ${text}`,
        ).toBe(true);
      }
    }
  });

  it("rejects a cursor that no report gave", async () => {
    await expect(examined({ cursor: "nonsense" })).rejects.toThrow(
      "This cursor is not from a doctor report.",
    );
  });

  it("tells of work that is left as notes", async () => {
    const { prisma } = path;
    const agent = await prisma.agent.findFirstOrThrow();
    await prisma.rejectedEvent.create({
      data: { projectId: 1, id: agent.id, receivedAt: new Date(), error: "value too long", event: {} },
    });
    await prisma.journal.create({ data: { projectId: 1, id: agent.id, events: 1_234, body: "{}" } });
    await prisma.refold.create({ data: { projectId: 1, agentId: agent.id, reason: "window_size" } });
    await prisma.rollup.updateMany({ where: { grain: 1, harness: "" }, data: { stale: true } });
    await prisma.agent.update({
      where: { projectId_id: { projectId: 1, id: agent.id } },
      data: { currentTokens: 7 },
    });
    const { checks } = await examined();
    expect(of(checks, "journal").message).toMatch(/^1,234 events wait to be projected; the oldest since \d/);
    expect(of(checks, "events set aside").message).toMatch(/^1 events could not .*: value too long\.$/);
    expect(of(checks, "upkeep").message).toMatch(
      /^Left to do: 1 agents to be folded again, \d+ rollup peaks/,
    );
    // An agent that waits to be folded again may differ until then; its session may not.
    expect(checks.filter(({ ok }) => !ok).map(({ name }) => name)).not.toContain("agents equal a fold");
    expect(checks.filter(({ note, ok }) => note && !ok)).toEqual([]);
    await prisma.agent.update({
      where: { projectId_id: { projectId: 1, id: agent.id } },
      data: { currentTokens: agent.currentTokens },
    });
    await prisma.rollup.updateMany({ data: { stale: false } });
    for (const table of ["rejected_events", "journal", "refolds"])
      await prisma.$executeRawUnsafe(`TRUNCATE ${table}`);
  });
});

function of(checks: readonly DoctorCheck[], name: string): DoctorCheck {
  return checks.find((check) => check.name.startsWith(name))!;
}

type TurnEdit = (turn: TurnRow) => TurnRow | undefined;
/** A fault made by hand: the table, what changes it, and what the report must name. */
type Fault = [what: string, table: string, change: string | TurnEdit, named: string];

const FIRST = (table: string, where: string) =>
  `ctid = (SELECT ctid FROM ${table} WHERE ${where} ORDER BY 1 LIMIT 1)`;
const changed = (table: string, where: string, ...columns: (readonly [string, string])[]): Fault[] =>
  columns.map(([column, value]) => [
    `${table}.${column}`,
    table,
    `UPDATE ${table} SET ${column} = ${value} WHERE ${FIRST(table, where)}`,
    `${table}.${column}`,
  ]);
const plusOne = (...columns: string[]) => columns.map((column) => [column, `${column} + 1`] as const);
const later = (...columns: string[]) =>
  columns.map((column) => [column, `${column} + interval '1 hour'`] as const);

/** Changes only the first turn of a kind. */
function once(where: (turn: TurnRow) => boolean, edit: TurnEdit): TurnEdit {
  let done = false;
  return (turn) => {
    if (done || !where(turn)) return turn;
    done = true;
    return edit(turn);
  };
}

const ROLLUP_SUMS = ["turns", "missing", "fresh", "cache_read", "cache_write", "output", "cost_micros"];

const FAULTS: Fault[] = [
  ...(["windowIndex", "windowTokens", "contextTokens"] as const).map((field): Fault => {
    const column = `turns.${field.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`)}`;
    const plusOne: TurnEdit = (turn) => ({ ...turn, [field]: turn[field]! + 1 });
    return [column, "turn_blocks", once(({ outputTokens }) => outputTokens === 4, plusOne), column];
  }),
  [
    "turns' window source",
    "turn_blocks",
    (turn) => ({ ...turn, facets: turn.facets ^ 4 }),
    "turns.window_source",
  ],
  [
    "a turn without a model",
    "turn_blocks",
    (turn) => (turn.outputTokens === 3 ? { ...turn, modelId: 7 } : turn),
    "turns.model_id",
  ],
  ["a lost turn", "turn_blocks", (turn) => (turn.outputTokens === 3 ? undefined : turn), "agents.turns"],
  [
    "a block that ends too early",
    "turn_blocks",
    "UPDATE turn_blocks SET last_at = first_at - interval '2 h'",
    "rollups.turns",
  ],
  [
    "a block that starts elsewhere",
    "turn_blocks",
    "UPDATE turn_blocks SET first_at = first_at + interval '2 h'",
    "segments",
  ],
  [
    "turns that are miscounted",
    "turn_blocks",
    "UPDATE turn_blocks SET turns = turns + 1",
    "turn_blocks.turns",
  ],
  ["lost keys", "turn_blocks", "UPDATE turn_blocks SET keys = substr(keys, 9)", "cannot be folded"],
  ["broken bytes", "turn_blocks", "UPDATE turn_blocks SET data = substr(data, 2)", "cannot be folded"],
  [
    "turns of nobody",
    "turn_blocks",
    once(
      ({ outputTokens }) => outputTokens === 3,
      (turn) => ({ ...turn, agent: 900 }),
    ),
    "agents row missing",
  ],
  ...changed("boundaries", "id = 'masked'", ...plusOne("window_index", "tokens_before", "tokens_after"), [
    "session_id",
    "gen_random_uuid()",
  ]),
  ...changed("boundaries", "origin = 1", ...plusOne("window_index", "tokens_before", "tokens_after"), [
    "detail",
    '\'{"hint": "other"}\'',
  ]),
  [
    "a missing inferred boundary",
    "boundaries",
    "DELETE FROM boundaries WHERE origin = 1",
    "boundaries (row missing)",
  ],
  [
    "an invented boundary",
    "boundaries",
    `INSERT INTO boundaries SELECT project_id, agent_id, 'inferred/x', session_id, 'unexplained', 1, at, received_at,
     window_index, NULL, 9, 1, '{}' FROM boundaries WHERE id = 'masked'`,
    "boundaries (row too many)",
  ],
  ["a lost mark", "boundaries", "DELETE FROM boundaries WHERE id = 'mask-2'", "marks acknowledged"],
  ...changed(
    "crossings",
    "up",
    ...plusOne("threshold_tokens", "context_tokens", "window_tokens", "turn_key"),
    ...later("at"),
    ["origin", "(origin + 1) % 3"],
    ["session_id", "gen_random_uuid()"],
    ["up", "false"],
    ["threshold", "'other'"],
  ),
  ["a missing crossing", "crossings", "DELETE FROM crossings WHERE up", "crossings (row missing)"],
  [
    "an invented crossing",
    "crossings",
    `INSERT INTO crossings SELECT project_id, agent_id, 'x', session_id, threshold, up, origin, at, turn_key,
     threshold_tokens, context_tokens, window_tokens FROM crossings LIMIT 1`,
    "crossings (row too many)",
  ],
  ...changed(
    "windows",
    "true",
    ...plusOne("turns", "first_tokens", "last_tokens", "peak_tokens", "peak_utilization", "window_tokens"),
    ...later("first_at", "last_at"),
  ),
  ["a missing window", "windows", "DELETE FROM windows", "windows (row missing)"],
  ["an invented window", "windows", "UPDATE windows SET index = 9", "windows (row too many)"],
  ...changed(
    "agents",
    "name = 'scout'",
    ["model", "'other'"],
    ["name", "'other'"],
    ["session_id", "gen_random_uuid()"],
    ...plusOne("turns", "windows", "masked", "compacted", "subticks", "restarts", "cleared", "unexplained"),
    ...plusOne("reclaimed", "warnings", "current_tokens", "current_window", "window_source", "load"),
    ...plusOne("peak_tokens", "peak_window", "peak_utilization"),
    ...later("peak_at", "first_at"),
    ["last_at", "first_at"],
    ["last_received_at", "first_at"],
    ["state", "jsonb_set(state::jsonb, '{0,6}', '7')::text"],
    ["has_state", "NOT has_state"],
  ),
  ["a broken state", "agents", "UPDATE agents SET state = 'x'", "agents.state"],
  [
    "an agent with another number",
    "agents",
    "UPDATE agents SET number = 900 WHERE name = 'scout'",
    "agents row missing",
  ],
  ["a lost agent", "agents", "DELETE FROM agents WHERE name = 'scout'", "agents row missing"],
  ...changed(
    "segments",
    "true",
    ["state", "jsonb_set(state::jsonb, '{6}', '7')::text"],
    ["summary", "jsonb_set(summary::jsonb, '{0}', '7')::text"],
  ),
  ["an unreadable segment", "segments", "UPDATE segments SET summary = 'x'", "cannot be folded"],
  ["a lost cut", "segments", `DELETE FROM segments WHERE ${FIRST("segments", "true")}`, "segments.summary"],
  [
    "a cut in a wrong place",
    "segments",
    `UPDATE segments SET ends_at = ends_at + interval '450 s'
     WHERE agent = 1 AND ends_at = (SELECT min(ends_at) FROM segments WHERE agent = 1)`,
    "segments.state",
  ],
  ...changed(
    "sessions",
    "name = 's2'",
    ...plusOne("agents", "turns", "windows", "masked", "compacted", "subticks", "restarts", "cleared"),
    ...plusOne("unexplained", "reclaimed", "warnings", "current_tokens", "current_window", "load"),
    ...plusOne("peak_tokens", "peak_utilization", "peak_bin", "first_slot", "last_slot", "open_slot"),
    ...later("first_at", "last_at", "last_received_at", "started_at", "ended_at", "meta_at"),
    ["main_agent", "gen_random_uuid()"],
    ["model", "'other'"],
    ["warned", "NOT warned"],
    ["title", "'other'"],
    ["kind", "NULL"],
    ["end_reason", "'other'"],
  ),
  ["a session's name", "sessions", "UPDATE sessions SET name = 'other' WHERE name = 's2'", "sessions.id"],
  ["a lost session", "sessions", "DELETE FROM sessions WHERE name = 's2'", "agents.session_id"],
  ...[1, 15, 60, 360].flatMap((grain) => [
    ...changed(
      "rollups",
      `grain = ${grain} AND harness <> '' AND peak_tokens > 0`,
      ...plusOne(...ROLLUP_SUMS, "peak_tokens", "peak_utilization"),
      ["bins", "'{1}'"],
    ),
    ...changed("boundary_rollups", `grain = ${grain} AND harness <> ''`, ...plusOne("count", "reclaimed")),
    ...["rollups.turns", "boundary_rollups.count"].map((named): Fault => {
      const [table] = named.split(".") as [string];
      return [
        `all of ${table}' ${grain} minutes`,
        table,
        `DELETE FROM ${table} WHERE grain = ${grain} AND harness = ''`,
        named,
      ];
    }),
  ]),
  [
    "a day in no rollup",
    "rollups",
    "DELETE FROM rollups WHERE bucket >= (SELECT max(bucket) FROM rollups WHERE grain = 360)",
    "turns in rollups",
  ],
  [
    "an uncounted turn",
    "ingest_counts",
    "UPDATE ingest_counts SET count = count - 1 WHERE outcome = 'turn'",
    "ingest_counts.count",
  ],
  [
    "an uncounted mark",
    "ingest_counts",
    "UPDATE ingest_counts SET count = count - 1 WHERE outcome = 'mark'",
    "ingest_counts.count",
  ],
];

// A check that never fails proves nothing: each fault is made by hand, found, named and undone.
describe("the doctor finds", () => {
  it.each(FAULTS)("%s", async (_what, table, change, named) => {
    const { prisma } = path;
    await prisma.$executeRawUnsafe(`CREATE TABLE kept AS TABLE ${table}`);
    try {
      const changed = await (typeof change === "string"
        ? prisma.$executeRawUnsafe(change)
        : editTurns(prisma, change));
      expect(changed).toBeGreaterThan(0);
      expect(await faults()).toContain(named);
    } finally {
      await prisma.$executeRawUnsafe(`TRUNCATE ${table}`);
      await prisma.$executeRawUnsafe(`INSERT INTO ${table} SELECT * FROM kept`);
      await prisma.$executeRawUnsafe("DROP TABLE kept");
    }
  });

  it("a number given to two agents", async () => {
    const { prisma } = path;
    await prisma.$executeRawUnsafe("DROP INDEX agents_project_id_number_key");
    await prisma.$executeRawUnsafe("UPDATE agents SET number = number - 1000");
    await prisma.$executeRawUnsafe("UPDATE agents SET number = 1");
    expect(await faults()).toContain("agents.number");
  });
});
