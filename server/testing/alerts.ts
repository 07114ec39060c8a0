import { randomUUID } from "node:crypto";
import type { AlertNotification, AlertRuleInput } from "@plimsoll/protocol/alerts";
import type { AlertRuleView } from "@plimsoll/protocol/api";
import { pino } from "pino";
import { Evaluator } from "../alerts/evaluation/evaluator.ts";
import { AlertRules } from "../alerts/rules.ts";
import { AlertSilences } from "../alerts/silences.ts";
import { openWriters, type WriterSql, type Writers } from "../db/sql.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import { LOCAL } from "./actor.ts";
import { type TestIngest, type TestPipeline, testIngest } from "./ingest.ts";

/** Receives the notifications of a rule in tests. */
export const TEST_ENDPOINT = "00000000-0000-7000-8000-000000000001";

export interface TestAlerts {
  ingest: TestIngest;
  pipeline: TestPipeline;
  rules: AlertRules;
  silences: AlertSilences;
  /** Another process that may evaluate project 1. */
  evaluator(): Evaluator;
  /** Creates a rule with an endpoint in project 1. */
  rule(rule: Partial<AlertRuleInput> & Pick<AlertRuleInput, "condition">): Promise<AlertRuleView>;
  /** Lets the evaluators' statement after so many others fail, as if the process were killed there. */
  failAfter(statements: number | undefined): void;
  /** What was enqueued, oldest first. */
  sent(): Promise<AlertNotification[]>;
  close(): Promise<void>;
}

/** Adds that endpoint to a project, paused: nothing leaves. */
export const ADD_TEST_ENDPOINT = `
INSERT INTO alert_endpoints (project_id, id, name, kind, address, version, sealed, key_id, pause_reason, created_at, updated_at)
VALUES (1, '${TEST_ENDPOINT}', 'test', 'webhook', '', 1, '', '', 'person', now(), now())`;

/** Ingestion and alert rules on a database of its own, without a loop: tests call `evaluate`. */
export async function testAlerts(): Promise<TestAlerts> {
  const ingest = await testIngest();
  const { prisma, databaseUrl: url } = ingest;
  await prisma.$executeRawUnsafe(ADD_TEST_ENDPOINT);
  const log = pino({ level: "silent" });
  const real = openWriters({ url, size: 4, log });
  const { writers, failAfter } = failing(real);
  const pipeline = await ingest.start();
  const options = { prisma, clock: Date.now, changed: () => {} };
  const rules = new AlertRules(options);
  const evaluators: Evaluator[] = [];
  let serial = 0;
  return {
    ingest,
    pipeline,
    rules,
    silences: new AlertSilences(options),
    evaluator() {
      const policyOf = (projectId: number) => PolicyBook.read(writers, projectId);
      const made = new Evaluator({
        projectId: 1,
        writers,
        holder: randomUUID(),
        policyOf,
        changed: () => {},
        enqueued: () => {},
        log,
      });
      evaluators.push(made);
      return made;
    },
    rule(rule) {
      serial += 1;
      const whole = { name: `rule ${serial}`, endpoints: [TEST_ENDPOINT], group_interval: "0s", ...rule };
      return rules.create(1, { rule: whole, enabled: true }, LOCAL);
    },
    failAfter,
    async sent() {
      const rows = await prisma.$queryRaw<{ body: AlertNotification }[]>`
        SELECT body FROM alert_deliveries ORDER BY serial`;
      return rows.map(({ body }) => body);
    },
    async close() {
      await Promise.all(evaluators.map((evaluator) => evaluator.close()));
      await real.end();
      await ingest.close();
    },
  };
}

/** Writers whose statements fail from some point on. A transaction that fails stores nothing, as after a kill. */
function failing(real: Writers): { writers: Writers; failAfter: (statements: number | undefined) => void } {
  let left: number | undefined;
  const count = () => {
    if (left === undefined) return;
    if (left <= 0) throw new Error("a test lets this statement fail");
    left -= 1;
  };
  const counted = (sql: WriterSql): WriterSql => ({
    async query(text, ...values) {
      count();
      return sql.query(text, ...values);
    },
    async execute(text, ...values) {
      count();
      return sql.execute(text, ...values);
    },
    send(text, ...values) {
      count();
      sql.send(text, ...values);
    },
  });
  const writers: Writers = {
    ...real,
    async query(text, ...values) {
      count();
      return real.query(text, ...values);
    },
    async transaction(run) {
      const result = await real.transaction((sql) => run(counted(sql)));
      // The commit succeeded, and its answer is lost.
      count();
      return result;
    },
  };
  return {
    writers,
    failAfter(statements) {
      left = statements;
    },
  };
}
