import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NAMES_PER_DAY } from "../../db/tables/rollup-names.ts";
import type { TurnRow } from "../../db/tables/turns.ts";
import { type ExaminedHistories, examinedHistories } from "../../testing/examined-histories.ts";
import type { TestIngest } from "../../testing/ingest.ts";
import { editTurns } from "../../testing/turns.ts";

let path: TestIngest;
let faults: ExaminedHistories["faults"];

beforeAll(async () => {
  ({ path, faults } = await examinedHistories(4));
});
afterAll(() => path?.close());

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
  ["lost keys", "turn_blocks", "UPDATE turn_blocks SET keys = substr(keys, 9)", "cannot be computed"],
  ["broken bytes", "turn_blocks", "UPDATE turn_blocks SET data = substr(data, 2)", "cannot be computed"],
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
  ...changed("boundaries", "fall IS NOT NULL", ["fall", `'{"turns": 99, "model": "m"}'`]),
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
    ...plusOne("prompt_tokens", "cached_tokens", "estimated_tokens", "cost_micros", "cost_turns"),
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
  ["an unreadable segment", "segments", "UPDATE segments SET summary = 'x'", "cannot be computed"],
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
    ...plusOne("prompt_tokens", "cached_tokens", "estimated_tokens", "cost_micros", "cost_turns"),
    ...plusOne("estimated_cost_micros", "estimated_cost_turns"),
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
  ...[60, 360].map(
    (grain): Fault => [
      `an invented insight of ${grain} minutes`,
      "insight_rollups",
      `INSERT INTO insight_rollups SELECT project_id, grain, bucket, harness, model, 'rebuild/idle/0', 1, 9
       FROM rollups WHERE grain = ${grain} AND harness <> '' LIMIT 1`,
      "insight_rollups.count",
    ],
  ),
  [
    "other outcomes",
    "agent_outcomes",
    `UPDATE agent_outcomes t SET cells = o.cells FROM agent_outcomes o WHERE length(o.cells) <> length(t.cells)`,
    "agent_outcomes.cells",
  ],
  [
    "other calls of tools in outcomes",
    "agent_outcomes",
    "UPDATE agent_outcomes SET called = '\\x01'",
    "agent_outcomes.called",
  ],
  [
    "other packed falls",
    "agent_outcomes",
    `UPDATE agent_outcomes t SET falls = o.falls FROM agent_outcomes o WHERE length(o.falls) <> length(t.falls)`,
    "agent_outcomes.falls",
  ],
  ["lost outcomes", "agent_outcomes", "DELETE FROM agent_outcomes", "agent_outcomes (row missing)"],
  [
    "a day in no rollup",
    "rollups",
    "DELETE FROM rollups WHERE bucket >= (SELECT max(bucket) FROM rollups WHERE grain = 360)",
    "turns in rollups",
  ],
  ["a lost name", "rollup_names", "DELETE FROM rollup_names WHERE model = 'model-b'", "rollups.turns"],
  ["a lost harness", "rollup_names", "DELETE FROM rollup_names WHERE model = ''", "boundary_rollups.count"],
  [
    "too many names of a day",
    "rollup_names",
    `INSERT INTO rollup_names SELECT 1, (SELECT min(day) FROM rollup_names), 'h' || n, 'm'
     FROM generate_series(1, ${NAMES_PER_DAY}) n`,
    "rollup_names.day",
  ],
  [
    "a rollup under a name of another day",
    "rollup_names",
    "UPDATE rollup_names SET day = day + interval '1 day'",
    "rollups.turns",
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
  const kept = new Set<string>();
  it.each(FAULTS)("%s", async (_what, table, change, named) => {
    const { prisma } = path;
    if (!kept.has(table)) await prisma.$executeRawUnsafe(`CREATE TABLE kept_${table} AS TABLE ${table}`);
    kept.add(table);
    try {
      const changed = await (typeof change === "string"
        ? prisma.$executeRawUnsafe(change)
        : editTurns(prisma, change));
      expect(changed).toBeGreaterThan(0);
      expect(await faults()).toContain(named);
    } finally {
      await prisma.$executeRawUnsafe(`TRUNCATE ${table}`);
      await prisma.$executeRawUnsafe(`INSERT INTO ${table} SELECT * FROM kept_${table}`);
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
