import {
  ASSUMED_EFFECTS,
  EFFECT_NAMES,
  type EffectName,
  type ReplayEffects,
  type ResponseHabits,
} from "@plimsoll/guard/replay";
import type { ReplayAssumption } from "@plimsoll/protocol";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../store/binary-arrays.ts";
import { BOUNDARY_ORIGIN } from "../../store/codes.ts";

/** Sessions, the latest ones, from which effects are measured. */
const SESSIONS = 2_000;
/** Fewer responses than this say nothing of the next one. */
const LEAST = 3;

/** SQL: a mark `b` that a policy made, and not a user. */
export const BY_POLICY = `(b.type IN ('masked', 'subtick')
  OR b.type = 'compacted' AND b.detail->>'trigger' IS DISTINCT FROM 'manual'
  OR b.type = 'restarted' AND b.origin = ${BOUNDARY_ORIGIN.reported} AND b.detail->>'reason' IS DISTINCT FROM 'requested')`;

// Two maskings in a row: what the second freed was added since the first.
const MEASURE = `
WITH recent AS MATERIALIZED (
  SELECT s.id, lower(split_part(s.harness, '@', 1)) AS family FROM sessions s
  WHERE s.project_id = $1 ORDER BY s.last_slot DESC LIMIT ${SESSIONS}
), marks AS (
  SELECT r.family, b.type, b.tokens_before::float8 AS before, b.tokens_after::float8 AS after,
    lag(b.type) OVER agent AS last_type, lag(b.tokens_after) OVER agent AS last_after
  FROM recent r JOIN agents a ON a.project_id = $1 AND a.session_id = r.id
  JOIN boundaries b ON b.project_id = $1 AND b.agent_id = a.id AND b.type = ANY($2::text[])
  WHERE ${BY_POLICY}
  WINDOW agent AS (PARTITION BY b.agent_id ORDER BY b.at, b.id)
)
SELECT m.family, m.type, count(*)::int4 AS happened,
  count(*) FILTER (WHERE m.before > 0 AND m.after <= m.before)::int4 AS known,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY m.after / m.before) FILTER (WHERE m.before > 0 AND m.after <= m.before) AS left_over,
  count(*) FILTER (WHERE m.last_type = 'masked' AND m.before > m.last_after)::int4 AS pairs,
  sum(m.before - m.after) FILTER (WHERE m.last_type = 'masked' AND m.before > m.last_after) AS freed,
  sum(m.before - m.last_after) FILTER (WHERE m.last_type = 'masked' AND m.before > m.last_after) AS added
FROM marks m GROUP BY GROUPING SETS ((m.family, m.type), (m.type))`;

/** One row of the measurement. `family` is null for the whole project. */
interface MeasuredRow {
  family: string | null;
  type: EffectName;
  happened: number;
  known: number;
  left_over: number | null;
  pairs: number;
  freed: number | null;
  added: number | null;
}

/** What the responses of a project did to levels, by harness family. */
export class MeasuredEffects {
  readonly #rows: readonly MeasuredRow[];
  readonly #families = new Map<string, { effects: ReplayEffects; assumptions: ReplayAssumption[] }>();

  private constructor(rows: readonly MeasuredRow[]) {
    this.#rows = rows;
  }

  static async read(sql: Pick<Sql, "query">, projectId: number): Promise<MeasuredEffects> {
    return new MeasuredEffects(
      await sql.query<MeasuredRow>(MEASURE, projectId, arrayLiteral([...EFFECT_NAMES])),
    );
  }

  of(family: string): ReplayEffects {
    return this.#measured(family).effects;
  }

  /** Which responses a family carries out; undefined if it has never reported one. */
  habitsOf(family: string): ResponseHabits | undefined {
    const own = this.#rows.filter((row) => row.family === family && row.happened > 0);
    if (own.length === 0) return undefined;
    const did = (name: EffectName) => own.some(({ type }) => type === name);
    return { masks: did("masked"), compacts: did("compacted"), restarts: did("restarted") };
  }

  /** Of the families that were asked for. */
  assumptions(): ReplayAssumption[] {
    return [...this.#families.values()].flatMap(({ assumptions }) => assumptions);
  }

  #measured(family: string) {
    let known = this.#families.get(family);
    if (known === undefined) {
      const assumptions = EFFECT_NAMES.map((response) => this.#assume(family, response));
      const effects = Object.fromEntries(
        assumptions.map(({ response, value }) => [response, value]),
      ) as ReplayEffects;
      known = { effects, assumptions };
      this.#families.set(family, known);
    }
    return known;
  }

  #assume(family: string, response: EffectName): ReplayAssumption {
    for (const [source, name] of [
      ["family", family],
      ["project", null],
    ] as const) {
      const row = this.#rows.find((one) => one.type === response && one.family === name);
      const measured = row && measuredValue(row);
      if (measured !== undefined && measured.n >= LEAST) return { family, response, ...measured, source };
    }
    return { family, response, value: ASSUMED_EFFECTS[response], n: 0, source: "assumed" };
  }
}

function measuredValue(row: MeasuredRow): { value: number; n: number } | undefined {
  if (row.type !== "masked")
    return row.left_over === null ? undefined : { value: row.left_over, n: row.known };
  if (row.freed === null || row.added === null || row.added <= 0) return undefined;
  return { value: Math.max(0, Math.min(1, row.freed / row.added)), n: row.pairs };
}
