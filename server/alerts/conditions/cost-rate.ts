import { money } from "@plimsoll/protocol/pure";
import { ALL } from "../../db/tables/buckets.ts";
import { piecesOf } from "../../read/buckets.ts";
import { DAY_MS, HOUR_MS } from "../../times.ts";
import type { JudgedSubject, JudgeInput } from "../judged-subject.ts";
import { type RuleOf, selects } from "../rule-book.ts";
import { judgeProject } from "./judge-project.ts";

interface CostRow {
  harness: string;
  model: string;
  usd: number;
  /** Of these, at list prices. */
  estimated: number;
}

const PERIODS = {
  hour: { ms: HOUR_MS, text: "hour" },
  day: { ms: DAY_MS, text: "24 hours" },
} as const;
type Period = keyof typeof PERIODS;

// A list of names, because the primary key of rollups has the harness before the bucket.
const COSTS = `
SELECT r.harness, r.model, sum(r.cost_micros + r.estimated_cost_micros)::float8 / 1e6 AS usd,
  sum(r.estimated_cost_micros)::float8 / 1e6 AS estimated
FROM unnest($2::int2[], $3::float8[], $4::float8[]) AS p (grain, since, until)
JOIN rollups r ON r.project_id = $1 AND r.grain = p.grain AND r.bucket >= to_timestamp(p.since / 1000)
  AND r.bucket < to_timestamp(p.until / 1000)
WHERE r.project_id = $1 AND r.harness = ANY(array_append(ARRAY(SELECT h.instance FROM harnesses h
  WHERE $5::bool AND h.project_id = $1 AND h.last_at > to_timestamp($6::float8 / 1000)), '${ALL}'))
GROUP BY r.harness, r.model`;

/** What calls cost in the latest hour, or in the latest 24 hours. */
export async function judgeCostRate(
  input: JudgeInput,
  rules: readonly RuleOf<"cost_rate">[],
): Promise<JudgedSubject[]> {
  const judged: JudgedSubject[] = [];
  for (const period of Object.keys(PERIODS) as Period[]) {
    const ofPeriod = rules.filter(({ rule: { condition } }) => condition.per === period);
    if (ofPeriod.length === 0) continue;
    const rows = await readCosts(input, period, ofPeriod.some(isScoped));
    for (const rule of ofPeriod) judged.push(...judgeProject(input, rule, findingOf(rule, rows)));
  }
  return judged;
}

/** By harness and model, and those of all together. */
function readCosts({ sql, project, now }: JudgeInput, period: Period, apart: boolean): Promise<CostRow[]> {
  // Turns may be dated some minutes ahead.
  const from = now - PERIODS[period].ms;
  const pieces = piecesOf({ from, to: now + HOUR_MS });
  return sql.query<CostRow>(
    COSTS,
    project.id,
    pieces.map(({ grain }) => grain),
    pieces.map((piece) => piece.from),
    pieces.map((piece) => piece.to),
    apart,
    from,
  );
}

const isScoped = ({ rule: { scope } }: RuleOf<"cost_rate">) =>
  Object.values(scope).some((value) => value !== undefined);

function findingOf(rule: RuleOf<"cost_rate">, rows: readonly CostRow[]) {
  const { per, at_least_usd } = rule.rule.condition;
  const counted = rows.filter(({ harness, model }) =>
    isScoped(rule) ? harness !== ALL && selects(rule, { harness, model }) : harness === ALL,
  );
  const usd = counted.reduce((sum, row) => sum + row.usd, 0);
  const estimated = counted.reduce((sum, row) => sum + row.estimated, 0);
  const part = estimated === 0 ? "" : `, of which ${money(estimated)} is estimated`;
  const why = `Calls of the latest ${PERIODS[per].text} cost ${money(usd)}${part}`;
  return { holds: usd >= at_least_usd, why, path: "/insights" };
}
