import { type AlertConditionOf, type AlertSighting, durationMs } from "@plimsoll/protocol/alerts";
import type { ConvergenceState } from "@plimsoll/protocol/api";
import { convergenceOf, latestSaid } from "@plimsoll/protocol/policy";
import { readAcknowledgements, type Said, saidIn } from "../../lines/acknowledgements.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { alertKey, type JudgedSubject, type JudgeInput } from "../judged-subject.ts";
import { type RuleOf, selects } from "../rule-book.ts";

type PolicyCondition = AlertConditionOf<"policy">;

interface PolicyHarness {
  instance: string;
  capabilities: string[];
  firstAt: number;
  heard: boolean;
  gone: boolean;
}

/** How far a harness is. Times in epoch ms. */
interface Progress {
  harness: PolicyHarness;
  generation: number;
  state: ConvergenceState;
  said: Said | undefined;
  offeredAt: number;
}

const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
/** Instances of one evaluation. */
const MOST_INSTANCES = 1_000;
const HEARD = "h.last_received_at > to_timestamp($2::float8 / 1000)";
const HARNESSES = `
SELECT h.instance, h.capabilities, ${ms("h.first_at")} AS "firstAt", ${HEARD} AS heard, h.status = 'bye' AS gone
FROM harnesses h WHERE h.project_id = $1 AND h.deleted_at IS NULL AND (${HEARD} OR h.instance = ANY($3::text[]))
ORDER BY h.last_received_at DESC LIMIT ${MOST_INSTANCES}`;
const MODELS = "SELECT name FROM models WHERE project_id = $1 ORDER BY id DESC LIMIT 200";

/** Harnesses that reject a policy, drift from it, or do not apply it. */
export async function judgePolicies(
  input: JudgeInput,
  rules: readonly RuleOf<"policy">[],
): Promise<JudgedSubject[]> {
  const { sql, project, policy, open, now } = input;
  if (rules.length === 0) return [];
  const ids = new Set(rules.map(({ id }) => id));
  const openInstances = [...open.byKey.values()]
    .filter(({ ruleId }) => ids.has(ruleId))
    .map(({ place }) => place.harness!);
  const harnesses = await sql.query<PolicyHarness>(HARNESSES, project.id, now - LIVE_FOR, openInstances);
  const acks = await readAcknowledgements(
    sql,
    project.id,
    harnesses.map(({ instance }) => instance),
  );
  const models = (await sql.query<{ name: string }>(MODELS, project.id)).map(({ name }) => name);
  return harnesses.flatMap((harness) => {
    const { instance, capabilities } = harness;
    const desired = policy.answerFor(instance, undefined);
    const said = saidIn(acks.get(instance)!);
    const isKnown = (of: number, claimed: string) => policy.hasHash(of, claimed, instance, models);
    const state = convergenceOf(desired, said, { capabilities, isKnown });
    const version = policy.versions.find(({ generation }) => generation === desired.generation);
    const offeredAt = Math.max(harness.firstAt, version?.steps.at(-1)?.at ?? harness.firstAt);
    const { generation } = desired;
    const progress = { harness, generation, state, said: latestSaid(said), offeredAt };
    return rules.flatMap((rule) => judgePolicy(input, rule, progress) ?? []);
  });
}

function judgePolicy(
  { open, now }: JudgeInput,
  rule: RuleOf<"policy">,
  progress: Progress,
): JudgedSubject | undefined {
  const { instance } = progress.harness;
  const facts = { harness: instance };
  const subject = `harness/${instance}`;
  const known = open.byKey.get(alertKey(rule.id, subject));
  if (known === undefined && !selects(rule, facts)) return undefined;
  const { condition } = rule.rule;
  const sighting = sightingOf(condition, progress, now);
  if (known === undefined && sighting.verdict !== "met") return undefined;
  return {
    rule,
    subject,
    sighting,
    facts,
    place: facts,
    report: () => ({ why: whyOf(condition, progress), level: null, boundaries: [], path: "/policies" }),
  };
}

function sightingOf(condition: PolicyCondition, progress: Progress, now: number): AlertSighting {
  const { harness, said, offeredAt } = progress;
  if (harness.gone) return { verdict: "over", reason: "session_ended" };
  if (!harness.heard) return { verdict: "silent" };
  const at = condition.state === "not_applied" ? offeredAt : (said?.at ?? offeredAt);
  return isMet(condition, progress, now) ? { verdict: "met", at } : { verdict: "clear", reason: "below" };
}

function isMet(
  { state: wanted, within }: PolicyCondition,
  { state, offeredAt }: Progress,
  now: number,
): boolean {
  if (wanted !== "not_applied") return state === wanted;
  const isLate = now - offeredAt >= durationMs(within);
  return isLate && (state === "waiting" || state === "received" || state === "mismatched");
}

function whyOf({ state, within }: PolicyCondition, { generation, said }: Progress): string {
  const why = said?.message ?? said?.code;
  if (state === "rejected")
    return `Policy ${said?.generation ?? generation} was rejected${why ? `: ${why}` : ""}`;
  if (state === "drifted") return "Somebody edited the settings that the policy wrote";
  return `Policy ${generation} was not applied within ${within}`;
}
