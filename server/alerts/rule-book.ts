import {
  type ActiveSilence,
  type AlertLabels,
  type AlertMatcher,
  AlertRule,
  type AlertSubjectKind,
  type AlertTiming,
  durationMs,
  matchesAll,
  subjectKindOf,
} from "@plimsoll/protocol/alerts";
import { familyOf, matchesPattern } from "@plimsoll/protocol/policy";
import { LRUCache } from "lru-cache";
import type { Sql } from "../db/sql.ts";
import { type ConditionChain, chainsOf } from "./condition-chains.ts";

/** A rule that is switched on, ready to be applied. */
export interface LoadedRule {
  id: string;
  judgedVersion: number;
  rule: AlertRule;
  kind: AlertSubjectKind;
  timing: AlertTiming;
}

/** What a scope selects by. */
export interface ScopeFacts {
  harness: string;
  session?: string | undefined;
  agent?: string | undefined;
  model?: string | undefined;
  kind?: string | undefined;
}

const RULES = `
SELECT id, judged_version AS "judgedVersion", enabled, body FROM alert_rules WHERE project_id = $1 ORDER BY id`;
const SILENCES = `
SELECT id, matchers, (extract(epoch FROM starts_at) * 1000)::float8 AS "startsAt",
  (extract(epoch FROM ends_at) * 1000)::float8 AS "endsAt"
FROM alert_silences WHERE project_id = $1 AND ends_at > to_timestamp($2::float8 / 1000) ORDER BY id`;

/** What the scope of a rule about agents may look at. */
const SCOPE_FACTS = ["harness", "session", "agent", "model", "kind"] as const satisfies (keyof ScopeFacts)[];

/** Combinations of names for which the matching rules are remembered. */
const REMEMBERED = 2_000;

/** The rules and silences of a project at one revision. */
export class RuleBook {
  readonly revision: number;
  readonly rules: readonly LoadedRule[];
  readonly silences: readonly ActiveSilence[];
  readonly byId: ReadonlyMap<string, LoadedRule>;
  /** Ids of the rules that are switched off. */
  readonly disabled: ReadonlySet<string>;
  readonly #agentFacts: readonly (keyof ScopeFacts)[];
  readonly #agentChains = new LRUCache<string, readonly ConditionChain[]>({ max: REMEMBERED });

  private constructor(
    revision: number,
    rules: readonly LoadedRule[],
    silences: readonly ActiveSilence[],
    disabled: readonly string[],
  ) {
    this.revision = revision;
    this.rules = rules;
    this.silences = silences;
    this.byId = new Map(rules.map((rule) => [rule.id, rule]));
    this.disabled = new Set(disabled);
    const agentRules = this.of("agent");
    this.#agentFacts = SCOPE_FACTS.filter((fact) => agentRules.some((rule) => reads(rule, fact)));
  }

  static readonly empty = new RuleBook(-1, [], [], []);

  /** @param now the database's time in epoch ms */
  static async read(
    sql: Pick<Sql, "query">,
    projectId: number,
    revision: number,
    now: number,
  ): Promise<RuleBook> {
    const [rules, silences] = await Promise.all([
      sql.query<StoredRule>(RULES, projectId),
      sql.query<{ id: string; matchers: AlertMatcher[]; startsAt: number; endsAt: number }>(
        SILENCES,
        projectId,
        now,
      ),
    ]);
    const disabled = rules.filter(({ enabled }) => !enabled).map(({ id }) => id);
    return new RuleBook(revision, rules.filter(({ enabled }) => enabled).map(loadRule), silences, disabled);
  }

  /** The rules about a kind of subject. */
  of(kind: AlertSubjectKind): readonly LoadedRule[] {
    return this.rules.filter((rule) => rule.kind === kind);
  }

  /** The rules about agents whose scope selects an agent. */
  chainsFor(facts: ScopeFacts): readonly ConditionChain[] {
    const key = JSON.stringify(this.#agentFacts.map((fact) => facts[fact]));
    let chains = this.#agentChains.get(key);
    if (chains === undefined) {
      chains = chainsOf(this.of("agent").filter((rule) => selects(rule, facts)));
      this.#agentChains.set(key, chains);
    }
    return chains;
  }

  /** Whether a silence began or ended between two times. Epoch ms. */
  silencesChanged(after: number, until: number): boolean {
    const between = (at: number) => at > after && at <= until;
    return this.silences.some(({ startsAt, endsAt }) => between(startsAt) || between(endsAt));
  }
}

interface StoredRule {
  id: string;
  judgedVersion: number;
  enabled: boolean;
  body: unknown;
}

/** A rule of the database, ready to be applied. */
export function loadRule({ id, judgedVersion, body }: Omit<StoredRule, "enabled">): LoadedRule {
  // Checked when it was saved; a later version of the schema may have more fields with defaults.
  const rule = AlertRule.parse(body);
  return {
    id,
    judgedVersion,
    rule,
    kind: subjectKindOf(rule.condition.type),
    timing: { forMs: durationMs(rule.for), keepFiringMs: durationMs(rule.keep_firing_for) },
  };
}

/** Whether the scope of a rule looks at a fact. */
function reads({ rule: { scope } }: LoadedRule, fact: (typeof SCOPE_FACTS)[number]): boolean {
  const labels: readonly string[] = fact === "harness" ? ["harness", "family"] : [fact];
  if (scope.match?.some(({ label }) => labels.includes(label))) return true;
  if (fact === "harness") return scope.harness !== undefined || scope.family !== undefined;
  return fact !== "session" && scope[fact] !== undefined;
}

/** Whether the scope of a rule selects something. */
export function selects({ rule }: Pick<LoadedRule, "rule">, facts: ScopeFacts): boolean {
  const { family, harness, model, kind, agent, match } = rule.scope;
  if (family !== undefined && !matchesPattern(family, familyOf(facts.harness))) return false;
  if (harness !== undefined && !matchesPattern(harness, facts.harness)) return false;
  if (model !== undefined && !matchesPattern(model, facts.model ?? "")) return false;
  if (kind !== undefined && kind !== facts.kind) return false;
  if (agent !== undefined && !matchesPattern(agent, facts.agent ?? "")) return false;
  return match === undefined || matchesAll(match, labelsOf(rule, facts));
}

/** The labels of an alert, by which silences match and notifications are grouped. */
export function labelsOf(rule: AlertRule, facts: Partial<ScopeFacts>): AlertLabels {
  const { harness } = facts;
  const own = {
    rule: rule.name,
    severity: rule.severity,
    condition: rule.condition.type,
    harness,
    family: harness === undefined ? undefined : familyOf(harness),
    session: facts.session,
    agent: facts.agent,
    model: facts.model,
    kind: facts.kind,
  };
  const known = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...rule.labels, ...Object.fromEntries(known) };
}
