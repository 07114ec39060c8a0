import { type AlertRule, durationMs } from "@plimsoll/protocol/alerts";
import type { AlertRuleImport, AlertRuleView } from "@plimsoll/protocol/api";
import { canonicalJson } from "@plimsoll/protocol/policy";
import { v7 as uuid } from "uuid";
import type { PrismaClient, Transaction } from "../db/client.ts";
import { databaseTime } from "../db/database-clock.ts";
import type { AlertRule as RuleRow } from "../db/generated/client.ts";
import { PlimsollError } from "../errors.ts";
import { type Actor, addEntries, addEntry, authorOf } from "../tenants/audit/entry.ts";
import { iso } from "../times.ts";
import { raiseAlertRevision } from "./alert-revision.ts";
import { readRules, writeRules } from "./rules-yaml.ts";
import { invalidRule, validRule } from "./valid-rule.ts";

export interface AlertRulesOptions {
  prisma: PrismaClient;
  /** Epoch ms, for the audit log. */
  clock: () => number;
  /** Called after a change of a project's rules. */
  changed: (projectId: number) => void;
}

/** A project's evaluation must stay cheap. */
const MOST_RULES = 1_000;

/** The rules of all projects. Every change raises the project's revision, which the evaluator reads with each evaluation. */
export class AlertRules {
  readonly #options: AlertRulesOptions;

  constructor(options: AlertRulesOptions) {
    this.#options = options;
  }

  /** By name. */
  async list(projectId: number): Promise<AlertRuleView[]> {
    const { prisma } = this.#options;
    const [rows, open] = await Promise.all([
      prisma.alertRule.findMany({ where: { projectId }, orderBy: { name: "asc" } }),
      prisma.$queryRaw<OpenCount[]>`
        SELECT rule_id, (count(*) FILTER (WHERE phase = 'pending'))::int4 AS pending,
          (count(*) FILTER (WHERE phase <> 'pending'))::int4 AS firing
        FROM alerts WHERE project_id = ${projectId} AND resolved_at IS NULL GROUP BY rule_id`,
    ]);
    const counts = new Map(open.map((count) => [count.rule_id, count]));
    return rows.map((row) => viewOf(row, counts.get(row.id)));
  }

  /** @throws PlimsollError `not_found` */
  async get(projectId: number, id: string): Promise<AlertRuleView> {
    const found = (await this.list(projectId)).find((rule) => rule.id === id);
    if (found === undefined) throw noRule(id);
    return found;
  }

  /** @throws PlimsollError `invalid_alert_rule` with `details.mistakes`, `conflict` if the name is taken, `not_found` */
  async create(
    projectId: number,
    { rule: value, enabled }: { rule: unknown; enabled: boolean },
    actor: Actor,
  ): Promise<AlertRuleView> {
    const rule = validRule(value);
    const id = await this.#change(projectId, async (tx, now) => {
      await refuseTakenName(tx, projectId, rule.name, undefined);
      const [inserted] = await this.#insert(tx, projectId, [{ rule, enabled }], actor, now);
      return inserted!;
    });
    return this.get(projectId, id);
  }

  /**
   * Replaces a rule.
   * @throws PlimsollError as `create`, and `alert_rule_changed` if somebody else changed it meanwhile
   */
  async save(
    projectId: number,
    { id, expected, rule: value }: { id: string; expected: number; rule: unknown },
    actor: Actor,
  ): Promise<AlertRuleView> {
    const rule = validRule(value);
    await this.#change(projectId, (tx, now) =>
      this.#update(tx, { projectId, id, expected, rule }, actor, now),
    );
    return this.get(projectId, id);
  }

  /** @throws PlimsollError `not_found`, `alert_rule_changed` */
  async switch(
    projectId: number,
    { id, expected, enabled }: { id: string; expected: number; enabled: boolean },
    actor: Actor,
  ): Promise<AlertRuleView> {
    await this.#change(projectId, (tx, now) =>
      this.#update(tx, { projectId, id, expected, enabled }, actor, now),
    );
    return this.get(projectId, id);
  }

  /** Deletes a rule. Its alerts end. @throws PlimsollError `not_found` */
  async remove(projectId: number, id: string, actor: Actor): Promise<void> {
    await this.#change(projectId, (tx) => this.#delete(tx, projectId, id, actor));
  }

  /** All rules as YAML, by name. Endpoints are named, so that the text fits another server. */
  async export(projectId: number): Promise<string> {
    const rows = await this.list(projectId);
    return writeRules(rows, await endpointIds(this.#options.prisma, projectId));
  }

  /**
   * Saves rules from YAML or JSON, all of them or none.
   * @param replace deletes the saved rules that the text does not name
   * @throws PlimsollError `invalid_alert_rule` with `details.mistakes`, `bad_request` for text that is not YAML
   */
  async import(
    projectId: number,
    { yaml, replace }: { yaml: string; replace: boolean },
    actor: Actor,
  ): Promise<AlertRuleImport> {
    return this.#change(projectId, async (tx, now) => {
      const wanted = readRules(yaml, await endpointIds(tx, projectId));
      const saved = await tx.alertRule.findMany({ where: { projectId } });
      const byName = new Map(saved.map((row) => [row.name, row]));
      const result = { created: 0, changed: 0, deleted: 0, unchanged: 0 };
      const added: typeof wanted = [];
      for (const { rule, enabled } of wanted) {
        const row = byName.get(rule.name);
        byName.delete(rule.name);
        if (row === undefined) added.push({ rule, enabled });
        else if (sameRule(ruleOf(row), rule) && row.enabled === enabled) result.unchanged += 1;
        else {
          const { id, version: expected } = row;
          await this.#update(tx, { projectId, id, expected, rule, enabled }, actor, now);
          result.changed += 1;
        }
      }
      result.created = (await this.#insert(tx, projectId, added, actor, now)).length;
      if (!replace) return result;
      for (const { id } of byName.values()) await this.#delete(tx, projectId, id, actor);
      return { ...result, deleted: byName.size };
    });
  }

  async #change<T>(projectId: number, run: (tx: Transaction, now: Date) => Promise<T>): Promise<T> {
    const { prisma, changed } = this.#options;
    const result = await prisma.$transaction(async (tx) => {
      await raiseAlertRevision(tx, projectId);
      return run(tx, await databaseTime(tx));
    });
    changed(projectId);
    return result;
  }

  /** Adds rules whose names are free. @returns their ids */
  async #insert(
    tx: Transaction,
    projectId: number,
    added: readonly { rule: AlertRule; enabled: boolean }[],
    actor: Actor,
    now: Date,
  ): Promise<string[]> {
    if ((await tx.alertRule.count({ where: { projectId } })) + added.length > MOST_RULES)
      throw new PlimsollError("conflict", `A project has at most ${MOST_RULES} rules. Delete some first.`);
    await refuseUnknownEndpoints(
      tx,
      projectId,
      added.map(({ rule }) => rule),
    );
    const rows = added.map(({ rule, enabled }) => ({
      projectId,
      id: uuid(),
      name: rule.name,
      version: 1,
      judgedVersion: 1,
      enabled,
      body: rule as object,
      ...authorOf(actor),
      createdAt: now,
      updatedAt: now,
    }));
    await tx.alertRule.createMany({ data: rows });
    const notes = rows.map(
      ({ name: target }) => ({ actor, action: "alert_rule_created", projectId, target }) as const,
    );
    await addEntries(tx, this.#options.clock(), notes);
    return rows.map(({ id }) => id);
  }

  async #update(
    tx: Transaction,
    change: { projectId: number; id: string; expected: number; rule?: AlertRule; enabled?: boolean },
    actor: Actor,
    now: Date,
  ): Promise<void> {
    const { projectId, id, expected } = change;
    const row = await tx.alertRule.findUnique({ where: { projectId_id: { projectId, id } } });
    if (row === null) throw noRule(id);
    if (row.version !== expected) throw ruleChanged(row, expected);
    const before = ruleOf(row);
    const rule = change.rule ?? before;
    await refuseTakenName(tx, projectId, rule.name, id);
    await refuseUnknownEndpoints(tx, projectId, [rule]);
    const version = row.version + 1;
    const enabled = change.enabled ?? row.enabled;
    const judgesSame = sameJudgement(before, rule);
    await tx.alertRule.update({
      where: { projectId_id: { projectId, id } },
      data: {
        name: rule.name,
        body: rule as object,
        enabled,
        version,
        judgedVersion: judgesSame ? row.judgedVersion : version,
        ...authorOf(actor),
        updatedAt: now,
      },
    });
    const detail = enabled === row.enabled ? undefined : enabled ? "switched on" : "switched off";
    await this.#note(tx, "alert_rule_changed", projectId, rule.name, actor, detail);
  }

  async #delete(tx: Transaction, projectId: number, id: string, actor: Actor): Promise<void> {
    const row = await tx.alertRule.findUnique({ where: { projectId_id: { projectId, id } } });
    if (row === null) throw noRule(id);
    await tx.alertRule.delete({ where: { projectId_id: { projectId, id } } });
    await this.#note(tx, "alert_rule_deleted", projectId, row.name, actor);
  }

  #note(
    tx: Transaction,
    action: "alert_rule_changed" | "alert_rule_deleted",
    projectId: number,
    target: string,
    actor: Actor,
    detail?: string,
  ): Promise<void> {
    return addEntry(tx, this.#options.clock(), {
      actor,
      action,
      projectId,
      target,
      ...(detail && { detail }),
    });
  }
}

interface OpenCount {
  rule_id: string;
  pending: number;
  firing: number;
}

/** The rule of a row, which was checked when it was saved. */
const ruleOf = ({ body }: Pick<RuleRow, "body">) => body as unknown as AlertRule;

function viewOf(row: RuleRow, open: OpenCount | undefined): AlertRuleView {
  return {
    id: row.id,
    version: row.version,
    enabled: row.enabled,
    rule: ruleOf(row),
    pending: open?.pending ?? 0,
    firing: open?.firing ?? 0,
    actor: row.actor,
    actor_name: row.actorName,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

const sameRule = (one: AlertRule, other: AlertRule) => canonicalJson(one) === canonicalJson(other);

/** Whether two versions judge the same subjects the same way: then open alerts go on. */
function sameJudgement(one: AlertRule, other: AlertRule): boolean {
  const judged = ({ condition, scope, group_by }: AlertRule) => canonicalJson({ condition, scope, group_by });
  return judged(one) === judged(other) && durationMs(one.for) === durationMs(other.for);
}

async function refuseTakenName(
  tx: Transaction,
  projectId: number,
  name: string,
  except: string | undefined,
): Promise<void> {
  const taken = await tx.alertRule.findUnique({ where: { projectId_name: { projectId, name } } });
  if (taken !== null && taken.id !== except)
    throw new PlimsollError(
      "conflict",
      `There is a rule named ${JSON.stringify(name)}. Choose another name.`,
    );
}

/** Ids of the project's endpoints by their names. */
async function endpointIds(
  client: Pick<Transaction, "alertEndpoint">,
  projectId: number,
): Promise<ReadonlyMap<string, string>> {
  const rows = await client.alertEndpoint.findMany({
    where: { projectId },
    select: { id: true, name: true },
  });
  return new Map(rows.map(({ id, name }) => [name, id]));
}

async function refuseUnknownEndpoints(
  tx: Transaction,
  projectId: number,
  rules: readonly AlertRule[],
): Promise<void> {
  if (rules.every(({ endpoints }) => endpoints.length === 0)) return;
  const known = new Set((await endpointIds(tx, projectId)).values());
  const mistakes = rules.flatMap(({ endpoints }) =>
    endpoints.flatMap((id, place) =>
      known.has(id) ? [] : [{ path: `endpoints.${place}`, message: `there is no endpoint ${id}` }],
    ),
  );
  if (mistakes.length > 0) throw invalidRule(mistakes);
}

const noRule = (id: string) => new PlimsollError("not_found", `There is no alert rule ${id}.`);

function ruleChanged(row: RuleRow, expected: number): PlimsollError {
  return new PlimsollError(
    "alert_rule_changed",
    `Somebody saved version ${row.version} of the rule after the version ${expected} that you changed. Compare both and save again.`,
    { details: { expected, version: row.version, theirs: ruleOf(row) } },
  );
}
