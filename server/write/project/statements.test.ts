import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openWriters } from "../../db/sql.ts";
import { agents } from "../../db/tables/agents.ts";
import { offer, type TestIngest, testIngest } from "../../testing/ingest.ts";
import type { RecordedStatement } from "../../testing/record-statements.ts";
import { until } from "../../testing/until.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { readRecomputeSettings, recomputeAgent } from "../../upkeep/doctor/recompute.ts";

const recorded = vi.hoisted(() => ({ texts: new Set<string>() }));

vi.mock("../../db/sql.ts", async (original) => {
  const sql = await original<typeof import("../../db/sql.ts")>();
  const { recordWriters } = await import("../../testing/record-statements.ts");
  const record = ({ text }: RecordedStatement) => void recorded.texts.add(text);
  return {
    ...sql,
    openWriters: (options: Parameters<typeof sql.openWriters>[0]) =>
      recordWriters(sql.openWriters(options), record),
  };
});

const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let tables: Set<string>;

const base = { harness: "h", session: "s" };
const turn = (n: number, more: Record<string, unknown> = {}) => ({
  ...base,
  id: `t${n}`,
  type: "turn",
  at: HOUR + n * 1_000,
  model: "model-x",
  usage: { input_tokens: 1_000 + n, output_tokens: 1 },
  ...more,
});
const restarted = (n: number) => ({
  ...base,
  id: `r${n}`,
  type: "restarted",
  at: HOUR + n * 1_000 + 500,
  number: 1,
  previous_turns: 1,
  carryover_turns: 0,
  reason: "full",
});

/** Runs every kind of work that the write path does. */
async function runWritePath(): Promise<void> {
  const { prisma } = path;
  const send = async (server: Awaited<ReturnType<TestIngest["start"]>>, ...events: unknown[]) => {
    expect((await server.send(...events)).rejected).toEqual([]);
  };
  const range = Array.from({ length: 20 }, (_, n) => n);
  let server = await path.start({ segmentTurns: 4 });
  await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: 2_000 });
  await send(server, ...range.map((n) => turn(n)), restarted(5), restarted(30));
  await send(server, {
    id: "hi",
    type: "harness",
    harness: "h",
    at: HOUR,
    status: "hello",
    name: "x",
    version: "1",
    capabilities: [],
  });
  const quota = { id: "q", type: "quota", harness: "h", at: HOUR, provider: "anthropic", limit: "five_hour" };
  await send(server, { ...quota, used_percent: 40, resets_at: HOUR + 3_600_000 });
  await send(server, { ...base, id: "start", type: "session", at: HOUR, status: "started", title: "t" });
  await send(server, turn(3), turn(7, { usage: { input_tokens: 5, output_tokens: 900 } }));
  await send(server, turn(7, { usage: { input_tokens: 9_000, output_tokens: 900 } }));
  await send(server, turn(50, { at: HOUR + 3_500 }), {
    ...base,
    id: "m",
    type: "masked",
    at: HOUR + 4_500,
    observations: 1,
  });
  await send(server, {
    ...base,
    id: "x",
    type: "threshold_crossed",
    at: HOUR + 9_100,
    threshold: "warning",
    direction: "up",
    threshold_tokens: 1_500,
    context_tokens: 1_600,
  });
  await send(server, { ...base, id: "m", type: "masked", at: HOUR + 2_500, observations: 2 });
  await send(server, turn(12, { at: HOUR + 11_700 }), turn(60, { at: HOUR + 61_000 }), {
    ...base,
    id: "y",
    type: "threshold_crossed",
    at: HOUR + 62_000,
    threshold: "warning",
    direction: "up",
    threshold_tokens: 1_500,
    context_tokens: 4_000,
  });
  await send(server, turn(63, { at: HOUR + 63_000, usage: { input_tokens: 4_000, output_tokens: 1 } }));
  await offer(server.ingest, 1, [{ type: "nonsense" }, turn(70, { at: HOUR + 70_000 })]);
  await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: 4_000 });
  await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: null });
  expect(await server.freshness.lag(1)).toEqual({ events: 0, ms: 0 });
  await upkeepDone(prisma);
  await prisma.$executeRawUnsafe(
    "ALTER TABLE agents ADD CONSTRAINT poison CHECK (peak_tokens <> 666666) NOT VALID",
  );
  await send(server, turn(80, { at: HOUR + 80_000, usage: { input_tokens: 666_666, output_tokens: 1 } }));
  await server.close();
  await prisma.$executeRawUnsafe("UPDATE agents SET last_received_at = now() - interval '2 days'");
  server = await path.start({ segmentTurns: 4 });
  await until(async () => (await prisma.agent.count({ where: { hasState: true } })) === 0);
  await server.close();
  const writers = openWriters({ url: path.databaseUrl, size: 2, log: pino({ level: "silent" }) });
  const { id } = await prisma.agent.findFirstOrThrow();
  const { text, values } = agents.find(1, [{ id }]);
  const [raw] = await writers.query<Record<string, unknown>>(text, ...values);
  const settings = await readRecomputeSettings(writers, 1);
  // Only what this test has changed by hand differs.
  const differences = await recomputeAgent(writers, agents.parse(raw!), base.harness, settings);
  expect(differences).toEqual(["agents.last_received_at"]);
  await writers.end();
}

beforeAll(async () => {
  path = await testIngest();
  const rows = await path.prisma.$queryRawUnsafe<{ name: string }[]>(
    "SELECT table_name AS name FROM information_schema.columns WHERE column_name = 'project_id' AND table_schema = 'public'",
  );
  tables = new Set(rows.map(({ name }) => name));
  await runWritePath();
});
afterAll(() => path.close());

/** A table of a project that a statement reads or writes, under the name that its columns go by. */
interface Use {
  table: string;
  alias: string;
}

const KEYWORDS = new Set([
  "where",
  "set",
  "using",
  "on",
  "left",
  "cross",
  "join",
  "values",
  "select",
  "order",
  "group",
  "limit",
  "returning",
]);

function usesOf(text: string): Use[] {
  const uses: Use[] = [];
  const pattern = /\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+([a-z_]+)(?:\s+(?:AS\s+)?([a-z_]+))?/gi;
  for (const [, table, alias] of text.matchAll(pattern)) {
    if (!tables.has(table!)) continue;
    uses.push({
      table: table!,
      alias: alias === undefined || KEYWORDS.has(alias.toLowerCase()) ? table! : alias,
    });
  }
  return uses;
}

/** What is wrong with a statement: each table must be inserted with, or restricted to, the project of the parameter. */
function problemsOf(text: string): string[] {
  const uses = usesOf(text);
  const names = new Set(uses.map(({ alias }) => alias));
  return uses
    .filter(({ table, alias }) => {
      if (new RegExp(`INSERT INTO ${table}\\b[^(]*\\(project_id`).test(text)) {
        const inserted = /\(project_id[^)]*\)\s*(?:SELECT|VALUES)\s*\(?\$1\b/.test(text);
        if (inserted && uses.filter((use) => use.alias === alias).length === 1) return false;
      }
      const qualified = text.match(new RegExp(`\\b${alias}\\.project_id = \\$\\d`, "g"))?.length ?? 0;
      const plain = names.size === 1 && /(?<![.\w])project_id = \$\d/.test(text) ? 1 : 0;
      return qualified + plain < uses.filter((use) => use.alias === alias && use.table === table).length;
    })
    .map(({ table, alias }) => `${table} ${alias}`);
}

describe("every statement of the write path", () => {
  it("was seen: each table of the write path is read and written", () => {
    const written = new Set<string>();
    for (const text of recorded.texts) {
      for (const [, table] of text.matchAll(/\b(?:INTO|UPDATE|DELETE FROM)\s+([a-z_]+)/g))
        written.add(table!);
    }
    expect([...written].filter((table) => tables.has(table)).sort()).toEqual([
      "agent_outcomes",
      "agents",
      "boundaries",
      "boundary_rollups",
      "crossings",
      "harnesses",
      "ingest_counts",
      "ingest_refusals",
      "journal",
      "model_windows",
      "models",
      "observed_windows",
      "projectors",
      "quota_percents",
      "refolds",
      "rejected_events",
      "rollup_names",
      "rollups",
      "segments",
      "sessions",
      "turn_blocks",
      "windows",
    ]);
    expect(recorded.texts.size).toBeGreaterThan(45);
  });

  it("names the project of the parameter for each table it touches", () => {
    const problems = [...recorded.texts]
      .map((text) => ({ text, problems: problemsOf(text) }))
      .filter(({ problems }) => problems.length > 0);
    expect(problems).toEqual([]);
  });

  it("has the project as its first parameter", () => {
    const others = [...recorded.texts].filter((text) => usesOf(text).length > 0 && !/\$1\b/.test(text));
    expect(others).toEqual([]);
  });
});

describe("the check of statements", () => {
  it.each<[string, string, string[]]>([
    ["finds a table without a project", "SELECT * FROM turn_blocks t WHERE t.agent = $1", ["turn_blocks t"]],
    [
      "finds one of two tables",
      "SELECT 1 FROM agents a JOIN sessions s ON s.id = a.session_id WHERE a.project_id = $1",
      ["sessions s"],
    ],
    [
      "finds a join over columns",
      "SELECT 1 FROM agents a JOIN sessions s ON s.project_id = a.project_id WHERE a.project_id = $1",
      ["sessions s"],
    ],
    ["finds an update", "UPDATE agents SET turns = 1 WHERE id = $1", ["agents agents"]],
    ["finds an insert without a project", "INSERT INTO models (id) SELECT $1", ["models models"]],
    ["takes a single table", "SELECT 1 FROM journal WHERE project_id = $1", []],
    [
      "takes both tables",
      "SELECT 1 FROM agents a JOIN sessions s ON s.project_id = $1 WHERE a.project_id = $1",
      [],
    ],
    [
      "takes an insert",
      "INSERT INTO models AS t (project_id, id) SELECT $1::int4, i.id FROM unnest($2::int4[]) i",
      [],
    ],
  ])("%s", (_, text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });
});
