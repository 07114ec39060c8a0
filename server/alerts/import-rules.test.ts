import type { AlertRuleInput } from "@plimsoll/protocol/alerts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LOCAL } from "../testing/actor.ts";
import { type TestAlerts, testAlerts } from "../testing/alerts.ts";

let alerts: TestAlerts;
beforeEach(async () => {
  alerts = await testAlerts();
});
afterEach(() => alerts.close());

const tokens = (n: number, at_least = 1_000): AlertRuleInput => ({
  name: `rule ${n}`,
  condition: { type: "tokens", at_least },
});
const load = (all: readonly object[], replace = false) =>
  alerts.rules.import(1, { yaml: JSON.stringify({ rules: all }), replace }, LOCAL);
const noted = async (action: string) =>
  (await alerts.ingest.prisma.auditEntry.findMany({ where: { action } })).map(({ target }) => target);

it("imports as many rules as a project may have, and not one more", async () => {
  const all = Array.from({ length: 1_000 }, (_, n) => tokens(n));
  expect(await load(all)).toEqual({ created: 1_000, changed: 0, deleted: 0, unchanged: 0 });
  expect((await noted("alert_rule_created")).toSorted()).toEqual(all.map(({ name }) => name).toSorted());
  expect(await load(all)).toEqual({ created: 0, changed: 0, deleted: 0, unchanged: 1_000 });
  await expect(load([tokens(0, 2_000), tokens(1_000)])).rejects.toMatchObject({ code: "conflict" });
  const [first] = await alerts.rules.list(1);
  expect(first).toMatchObject({ version: 1, rule: { condition: { at_least: 1_000 } } });
});

it("creates, changes and deletes with one import, or does nothing", async () => {
  await load([tokens(1), tokens(2), tokens(3)]);
  const unknown = { ...tokens(9), endpoints: ["0198f2aa-0000-7000-8000-000000000000"] };
  await expect(load([tokens(1, 5), unknown], true)).rejects.toMatchObject({ code: "invalid_alert_rule" });
  await expect(load([tokens(4), tokens(4)], true)).rejects.toMatchObject({ code: "invalid_alert_rule" });
  expect(await load([tokens(1), tokens(2, 5), tokens(4)], true)).toEqual({
    created: 1,
    changed: 1,
    deleted: 1,
    unchanged: 1,
  });
  expect((await alerts.rules.list(1)).map(({ rule, version }) => `${rule.name} v${version}`)).toEqual([
    "rule 1 v1",
    "rule 2 v2",
    "rule 4 v1",
  ]);
  expect(await noted("alert_rule_deleted")).toEqual(["rule 3"]);
  expect(await load([], true)).toMatchObject({ deleted: 3 });
});
