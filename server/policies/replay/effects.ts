import type { ReplayAssumption } from "@plimsoll/protocol/api";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
import {
  ASSUMED_EFFECTS,
  EFFECT_NAMES,
  type EffectName,
  type ReplayEffects,
  type ResponseHabits,
} from "./replay-policy.ts";

/** Sessions, the latest ones, from which effects are measured. */
const SESSIONS = 2_000;
/** Fewer maskings than this say little of the next one. What another response leaves is alike for a family, so one is enough. */
const LEAST_MASKINGS = 3;

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
  SELECT r.family, a.current_window AS size, b.type, b.tokens_before::float8 AS before, b.tokens_after::float8 AS after,
    lag(b.type) OVER agent AS last_type, lag(b.tokens_after) OVER agent AS last_after
  FROM recent r JOIN agents a ON a.project_id = $1 AND a.session_id = r.id
  JOIN boundaries b ON b.project_id = $1 AND b.agent_id = a.id AND b.type = ANY($2::text[])
  WHERE ${BY_POLICY}
  WINDOW agent AS (PARTITION BY b.agent_id ORDER BY b.at, b.id)
)
SELECT m.family, m.size, m.type, GROUPING(m.family, m.size)::int4 AS grouped, count(*)::int4 AS happened,
  count(m.after)::int4 AS known, percentile_cont(0.5) WITHIN GROUP (ORDER BY m.after) AS left_over,
  count(*) FILTER (WHERE m.before >= m.after AND m.before > 0)::int4 AS fell,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY m.after / m.before) FILTER (WHERE m.before >= m.after AND m.before > 0) AS left_share,
  count(*) FILTER (WHERE m.last_type = 'masked' AND m.before > m.last_after)::int4 AS pairs,
  sum(m.before - m.after) FILTER (WHERE m.last_type = 'masked' AND m.before > m.last_after) AS freed,
  sum(m.before - m.last_after) FILTER (WHERE m.last_type = 'masked' AND m.before > m.last_after) AS added
FROM marks m GROUP BY GROUPING SETS ((m.family, m.size, m.type), (m.family, m.type), (m.type))`;

/** What the rows of the measurement stand for, by \`grouped\`. */
const GROUPED = { window: 0, family: 1, project: 3 } as const;

/** One row of the measurement. */
interface MeasuredRow {
  family: string | null;
  /** Of the window, in tokens. */
  size: number | null;
  grouped: number;
  type: EffectName;
  happened: number;
  known: number;
  left_over: number | null;
  fell: number;
  left_share: number | null;
  pairs: number;
  freed: number | null;
  added: number | null;
}

/** What the responses of a project did to levels, by harness family and window size. */
export class MeasuredEffects {
  readonly #rows: readonly MeasuredRow[];
  readonly #asked = new Map<string, { effects: ReplayEffects; assumptions: ReplayAssumption[] }>();

  private constructor(rows: readonly MeasuredRow[]) {
    this.#rows = rows;
  }

  static async read(sql: Pick<Sql, "query">, projectId: number): Promise<MeasuredEffects> {
    return new MeasuredEffects(
      await sql.query<MeasuredRow>(MEASURE, projectId, arrayLiteral([...EFFECT_NAMES])),
    );
  }

  /** @param windowTokens undefined if the size of the window is unknown */
  of(family: string, windowTokens: number | undefined): ReplayEffects {
    const key = `${family}/${windowTokens}`;
    let known = this.#asked.get(key);
    if (known === undefined) {
      const assumptions = EFFECT_NAMES.map((name) => this.#assume(family, windowTokens ?? null, name));
      known = { effects: effectsOf(assumptions), assumptions };
      this.#asked.set(key, known);
    }
    return known.effects;
  }

  /** Which responses a family carries out; undefined if it has never reported one. */
  habitsOf(family: string): ResponseHabits | undefined {
    const own = this.#rows.filter((row) => row.family === family);
    if (own.length === 0) return undefined;
    const did = (name: EffectName) => own.some(({ type }) => type === name);
    return { masks: did("masked"), compacts: did("compacted"), restarts: did("restarted") };
  }

  /** Those that were asked for. */
  assumptions(): ReplayAssumption[] {
    return [...this.#asked.values()].flatMap(({ assumptions }) => assumptions);
  }

  #assume(family: string, size: number | null, response: EffectName): ReplayAssumption {
    const assumed = { family, window_tokens: size, response };
    const places = [
      ["window", { family, size }],
      ["family", { family, size: null }],
      ["project", { family: null, size: null }],
    ] as const;
    for (const [source, place] of places) {
      const row = this.#rows.find(
        (one) =>
          one.type === response &&
          one.grouped === GROUPED[source] &&
          one.family === place.family &&
          one.size === place.size,
      );
      const measured = row && measuredValue(row);
      if (measured !== undefined && measured.n >= (response === "masked" ? LEAST_MASKINGS : 1))
        return { ...assumed, ...measured, source };
    }
    const unit = response === "masked" ? "added_share" : "level_share";
    const value = response === "masked" ? ASSUMED_EFFECTS.masked : ASSUMED_EFFECTS[response].share;
    return { ...assumed, unit, value, n: 0, source: "assumed" };
  }
}

function effectsOf(assumptions: readonly ReplayAssumption[]): ReplayEffects {
  return Object.fromEntries(
    assumptions.map(({ response, unit, value }) => [
      response,
      unit === "added_share" ? value : unit === "tokens" ? { tokens: value } : { share: value },
    ]),
  ) as unknown as ReplayEffects;
}

/** Tokens say nothing of windows of another size, so there it is the share that counts. */
function measuredValue(row: MeasuredRow): Pick<ReplayAssumption, "unit" | "value" | "n"> | undefined {
  if (row.type === "masked") {
    if (row.freed === null || row.added === null || row.added <= 0) return undefined;
    return { unit: "added_share", value: Math.max(0, Math.min(1, row.freed / row.added)), n: row.pairs };
  }
  if (row.grouped === GROUPED.window)
    return row.left_over === null ? undefined : { unit: "tokens", value: row.left_over, n: row.known };
  return row.left_share === null ? undefined : { unit: "level_share", value: row.left_share, n: row.fell };
}
